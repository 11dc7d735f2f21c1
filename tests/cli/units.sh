#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The units for jobs, redlock@.service and redlock@.timer: systemd finds nothing wrong with them, and what
# they start runs a short job once on ten machines.
. "$(dirname "$0")/lib.bash" "$@"
inside_dev 3 "$@"
packaging=$(readlink -f "$here/../../packaging")
sed "s|@CMAKE_INSTALL_FULL_BINDIR@|$(dirname "$redlock")|" "$packaging/redlock@.service.in" >"$tmp/redlock@.service"

# What systemd makes of the unit for the job `report`: variables are split at spaces.
mkdir "$tmp/jobs"
printf '#!/bin/sh\necho "by $REDLOCK_NAME" >>"%s/ran"\n' "$tmp" >"$tmp/jobs/report"
chmod 755 "$tmp/jobs/report"
options=$(sed -n 's/^Environment="RUN_OPTIONS=\(.*\)"$/\1/p' "$tmp/redlock@.service")
start=$(sed -n 's/^ExecStart=//p' "$tmp/redlock@.service")
start=${start//%i/report}
start=${start//\/etc\/redlock\/jobs/$tmp/jobs}

# started OPTIONS: as systemd starts it with these RUN_OPTIONS.
started() {
    # shellcheck disable=SC2086 # words, as systemd splits them
    ${start/\$RUN_OPTIONS/$1} 2>>"$tmp/errors"
}

# A second apart at most, as timers of ten machines are.
: >"$tmp/errors" >"$tmp/ran"
for k in 0 1 2 3 4 5 6 7 8 9; do
    (
        read -r -t "0.$k" _ <> <(:)
        started "$options"
        echo $? >"$tmp/status.$k"
    ) &
done
wait
is 'ten machines start redlock@report: the job runs once' "$(cat "$tmp/ran")" 'by report'
is '   and all units succeed' "$(sort "$tmp"/status.? | uniq -c | awk '{ print $1 " of " $2 }')" '10 of 0'
is '   without a word' "$(cat "$tmp/errors")" ''

# The manual says why one of --every and --min-hold is necessary.
start=${start//report/held}
mv "$tmp/jobs/report" "$tmp/jobs/held"
: >"$tmp/ran"
# shellcheck disable=SC2086
(exec ${start/\$RUN_OPTIONS/--no-wait --skip-ok --min-hold 1h}) &
runner=$!
eventually [ -s "$tmp/ran" ]
started '--no-wait --skip-ok --min-hold 1h'
is 'with --min-hold the next machine does not run a job that has ended' "$? $(wc -l <"$tmp/ran")" '0 1'
kill $runner && wait
started '--no-wait --skip-ok'
is '   and without it, it does' "$? $(wc -l <"$tmp/ran")" '0 2'

if command -v systemd-analyze >/dev/null; then
    cp "$packaging/redlock@.timer" "$tmp"
    cp "$tmp/redlock@.service" "$tmp/redlock@report.service"
    try systemd-analyze verify --man=no "$tmp/redlock@report.service" "$tmp/redlock@.timer"
    is 'systemd finds nothing wrong with the units' "$status $(grep 'redlock@' <<<"$err")" '0 '
else
    echo '# left out: systemd-analyze is not installed'
fi
done_testing
