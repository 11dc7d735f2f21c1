#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the certificates described in certs.h in directory $1. Elliptic curves: quick to make.
set -eu
cd "$1"
exec 2>certs.log

cat >ca.cnf <<'END'
[ca]
default_ca = main
[main]
dir = .
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
END
: >index.txt
echo 01 >serial

key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
}

authority() {
    key "$1"
    openssl req -new -x509 -key "$1.key" -subj "/CN=$1 authority" -days 30 -out "$1.crt" \
        -addext basicConstraints=critical,CA:TRUE
}

# name, subjectAltName, first and last day
certificate() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -addext "subjectAltName=$2" -out "$1.csr"
    openssl ca -batch -config ca.cnf -cert ca.crt -keyfile ca.key -in "$1.csr" -out "$1.crt" \
        -notext -startdate "$3" -enddate "$4"
}

here=DNS:localhost,IP:127.0.0.1,IP:::1
authority ca
authority other
certificate good "$here" 20200101000000Z 20991231000000Z
certificate expired "$here" 20200101000000Z 20210101000000Z
certificate wrong DNS:wrong.example 20200101000000Z 20991231000000Z
certificate spelled DNS:127.0.0.1 20200101000000Z 20991231000000Z
certificate elsewhere DNS:127.0.0.1,IP:192.0.2.1 20200101000000Z 20991231000000Z
certificate client DNS:client.example 20200101000000Z 20991231000000Z
