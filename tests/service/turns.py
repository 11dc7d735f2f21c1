# SPDX-License-Identifier: BSD-2-Clause
"""turns.py standard|requests: takes $LOCK five times, through $FIRST or $SECOND. Each time it reads the
number in $NUMBER, writes the next one, and notes its fence in $FENCES. What it believes comes from
after_ms and remaining_ms only."""
import http.client
import json
import os
import secrets
import sys
import time
import urllib.parse

PATH = '/v1/locks/' + os.environ['LOCK']


def standard(method, base, headers, body):
    at = urllib.parse.urlsplit(base)
    client = http.client.HTTPConnection(at.hostname, at.port, timeout=60)
    client.request(method, PATH, body, headers)
    answer = client.getresponse()
    text = answer.read()
    client.close()
    return answer.status, text


def with_requests():
    import requests
    session = requests.Session()
    session.trust_env = False

    def ask(method, base, headers, body):
        answer = session.request(method, base + PATH, headers=headers, data=body, timeout=60)
        return answer.status_code, answer.content
    return ask


ask = with_requests() if sys.argv[1] == 'requests' else standard
replicas = [os.environ['FIRST'], os.environ['SECOND']]
for turn in range(5):
    here, there = replicas[turn % 2], replicas[1 - turn % 2]
    headers = {'Lease-Id': secrets.token_urlsafe(24), 'Content-Type': 'application/json',
               'Authorization': 'Bearer ' + os.environ['TOKEN']}
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    status, text = ask('PUT', here, headers, b'{"ttl_ms":30000,"wait_ms":50000}')
    held = json.loads(text)
    assert status == 201, held
    deadline = began + (held['after_ms'] + held['remaining_ms']) / 1000
    with open(os.environ['NUMBER']) as file:
        number = int(file.read())
    time.sleep(0.002)
    assert time.clock_gettime(time.CLOCK_BOOTTIME) < deadline, 'the machine stood still'
    with open(os.environ['NUMBER'], 'w') as file:
        file.write('%d\n' % (number + 1))
    with open(os.environ['FENCES'], 'a') as file:
        file.write('%d\n' % held['fence'])
    headers['Grant'] = held['grant']
    status, text = ask('POST', there, headers, b'{"ttl_ms":20000}')
    assert status == 200 and json.loads(text)['fence'] == held['fence'], text
    status, text = ask('DELETE', there, headers, None)
    assert status == 204 and text == b'', text
print('fine')
