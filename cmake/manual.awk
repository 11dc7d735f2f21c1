# SPDX-License-Identifier: BSD-2-Clause
# awk -f manual.awk HEADER PAGE: prints PAGE with the reference, made of the header, behind its line
# `.\" REFERENCE`.
#
# What stands between two blank lines of the header is one entry: a comment, and the declarations
# below it as the heads of what it says. Fields and constants are items of their entry, with the
# comment above or behind them.

function put(line) { reference = reference line "\n" }

# Functions are bold, backquoted words emphasised, no name is hyphenated, and each sentence has a
# line of its own.
function put_text(line,   style) {
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    gsub(/[("`]*([A-Za-z]+_[A-Za-z_.]+|[A-Z][A-Z][A-Z]+)/, "\\%&", line)
    gsub(/redlock_[a-z_]+\(\)/, "\\fB&\\fR", line)
    while (sub(/`/, style == "I" ? "\\fR" : "\\fI", line)) style = style == "I" ? "R" : "I"
    if (line ~ /^\./) line = "\\&" line
    else gsub(/\. +/, ".\n", line)
    put(line)
}

# Paragraphs, lists (" - text", or "  ERROR  text") and examples (by four spaces).
function put_prose(prose,   lines, count, line, i, end) {
    count = split(prose, lines, "\n")
    for (i = 1; i <= count; i++) {
        line = lines[i]
        if (end != "" && line !~ /^ /) { put(end); end = "" }
        if (end == "" && line ~ /^ - /) { put(".Bl -bullet -width 1n"); end = ".El" }
        if (end == "" && line ~ /^  [A-Z]/) {
            put(".Bl -tag -width NOQUORUM -offset indent -compact")
            end = ".El"
        }
        if (end == "" && sub(/^    /, "", line)) { put(".Dl " line); continue }
        if (sub(/^ - /, "", line)) put(".It")
        if (match(line, /^  [A-Z][A-Z, ]+(  +|$)/)) {
            put(".It Er " substr(line, 3, RLENGTH - 2))
            line = substr(line, RLENGTH + 1)
            if (line == "") continue
        }
        sub(/^ +/, "", line)
        if (line == "") put(".Pp")
        else put_text(line)
    }
    if (end != "") put(end)
}

# An item without a tag is a paragraph between the others.
function item(tag, text) { tags[++count] = tag; texts[count] = text }
function head(macro) { heads = heads (heads == "" ? "" : "\n.br\n") macro }

function flush(   i, is_open) {
    if (heads doc == "" && !count) return
    if (!is_first) put(".Pp")
    is_first = 0
    if (heads != "") put(heads "\n.Bl -item -offset indent -compact\n.It")
    put_prose(doc)
    if (doc != "" && count) put(".Pp")
    for (i = 1; i <= count; i++) {
        if (is_open && tags[i] == "") put(".El\n.Pp")
        else if (!is_open && tags[i] != "") put(".Bl -tag -width " (tags[i] ~ /^Fa/ ? 6 : 24) "n -compact")
        is_open = tags[i] != ""
        if (is_open) put(".It " tags[i])
        put_prose(texts[i])
    }
    if (is_open) put(".El")
    if (heads != "") put(".El")
    heads = doc = ""
    count = 0
}

FNR != NR {
    print
    if (/^\.\\" REFERENCE/) printf "%s", reference
    next
}

# Splits what the line has into $0 and `said`, the comment of one or more lines.
{
    said = ""
    sub(/ *\\$/, "")
    if (at = index($0, "/*")) {
        said = substr($0, at + 3)
        $0 = substr($0, 1, at - 1)
        while (!sub(/ *\*\/$/, "", said) && (getline line) > 0) {
            sub(/^ *\* ?/, "", line)
            said = said (said == "" ? "" : "\n") (line == "/" ? " */" : line)
        }
        sub(/\n$/, "", said)
    }
    sub(/ +$/, "")
}

sub(/^.*\nConventions, true of every call:\n\n/, "", said) { put(".Ss Conventions"); put_prose(said) }
said ~ /^---- / {
    flush()
    gsub(/^-+ | -+$/, "", said)
    put(".Ss " toupper(substr(said, 1, 1)) substr(said, 2))
    is_first = has_begun = 1
    next
}
/^#ifdef/ { has_begun = 0 }
!has_begun { next }

# ---- lists of constants: the enum below gives them their names ----

/^#define [A-Z_]+\(X\)/ { head(".Fn " substr($2, 1, index($2, "(") - 1) " X"); in_list = 1; next }
in_list && sub(/^ *X\(/, "") {
    text = substr($0, index($0, "\""))
    item(substr($0, 1, index($0, ",") - 1), substr(text, 1, length(text) - 1) (said == "" ? "" : ": " said))
    next
}
in_list && said != "" { item("", said) }
in_list && sub(/##name.*/, "") {
    for (i = 1; i <= count; i++) if (tags[i] != "") tags[i] = "Dv " $NF tags[i]
    in_list = 0
}
in_list && !/^enum/ { next }

# ---- bodies of structs and enums ----

/^(typedef )?(struct|enum) .*\{$/ {
    head(".Vt \"" (/enum/ ? "enum " : "struct ") $(NF - 1) "\"")
    in_body = 1
    is_same = 0
    next
}
/^\}/ { in_body = 0; next }
in_body && ($0 == "" || said != "") { is_same = 0 }
in_body && $0 == "" && said != "" { item("", said); is_same = 1 }
in_body && /^ .*[;,]$/ && !/size_t size;/ {
    gsub(/^ +|( =.*)?[;,]$/, "")
    tag = /^REDLOCK_/ ? "Dv " $0 : "Fa \"" $0 "\""
    if (!is_same) item(tag, said)
    else tags[count] = tags[count] (tags[count] == "" ? "" : " , ") tag
    is_same = said == ""
}
in_body { next }

# ---- comments, functions, macros ----

$0 == "" { if (said == "" || heads != "" || count) flush(); doc = said; next }
/^REDLOCK_API/ {
    while (!/;$/ && (getline line) > 0) $0 = $0 line
    gsub(/^REDLOCK_API |\);$/, "")
    gsub(/ +/, " ")
    match($0, /[a-z_]+\(/)
    macro = ".Ft " substr($0, 1, RSTART - 1) "\n.Fo " substr($0, RSTART, RLENGTH - 1)
    macro = macro "\n.Fa \"" substr($0, RSTART + RLENGTH) "\""
    gsub(/, /, "\"\n.Fa \"", macro)
    head(macro "\n.Fc")
}
/^typedef/ && !/^typedef struct/ { head(".Vt \"" substr($0, 1, length($0) - 1) "\"") }
/^#define [A-Z_]+\(\.\.\.\)/ {
    head(".Fn " substr($2, 1, index($2, "(") - 1) " ...")
    gsub(/^.*\(|,$/, "", $3)
    doc = "Initialises a " $3 "."
    next
}
/^#define/ && said == "" && doc != "" { head(".Dv " $2 " " $3); next }
/^#define/ { item("Dv " $2 " " $3, said) }
