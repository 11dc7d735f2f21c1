/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of a lease as golden traces: what follows from what, in which order. */
#include "base/time.h"
#include "check.h"
#include "lease_trace.h"
#include "leases/lease.h"

CASE(granted, "A grant is remembered, then answered, and is the client's once a byte was sent.")
{
    lease_trace("[0] put                       -> remember WAITS, start: WAITING\n"
                "[12] acquired until=30000     -> remember GRANTED, answer HELD 12+29687, "
                "note grant: ANSWERED\n"
                "[12] drain                    -> ANSWERED\n"
                "[13] sent                     -> OVER\n");
}

CASE(undelivered, "A grant of which no byte was sent is spent, then released.")
{
    lease_trace("[0] put                       -> remember WAITS, start: WAITING\n"
                "[12] acquired until=30000     -> remember GRANTED, answer HELD 12+29687, "
                "note grant: ANSWERED\n"
                "[13] gone -> remember ENDED, note undelivered, end: UNDONE\n"
                "[14] lost LOST                -> UNDONE\n"
                "[15] released                 -> OVER\n");
    lease_trace("[0] put                       -> remember WAITS, start: WAITING\n"
                "[12] acquired until=30000     -> remember GRANTED, answer HELD 12+29687, "
                "note grant: ANSWERED\n"
                "[13] cut -> remember ENDED, note undelivered, end: UNDONE\n"
                "[15] released NOQUORUM        -> OVER\n");
}

CASE(too_late, "What is granted without time left is spent, refused and given back.")
{
    lease_trace("[0] put                       -> remember WAITS, start: WAITING\n"
                "[29999] acquired until=30000  -> remember ENDED, answer LATE, end: UNDONE\n"
                "[30000] released EXPIRED      -> OVER\n");
}

CASE(not_begun, "Nothing is begun for a client that has closed, a spent id, a full rule.")
{
    lease_trace("[0] put eof          -> drop: OVER\n");
    lease_trace("[0] put GRANTED      -> note yours, answer YOURS: OVER\n");
    lease_trace("[0] put ENDED        -> answer HAS_ENDED: OVER\n");
    lease_trace("[0] put draining     -> answer DRAINING: OVER\n");
    lease_trace("[0] put full         -> note quota, answer QUOTA: OVER\n");
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[0] failed           -> answer NO_MEMORY: OVER\n");
}

CASE(refused, "A wait that ends without a grant leaves nothing behind.")
{
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[9] acquired BUSY    -> remember UNKNOWN, answer FAILURE BUSY: OVER\n");
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[9] acquired YOURS   -> remember UNKNOWN, note yours, answer YOURS: OVER\n");
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[9] gone             -> note disconnect, remember UNKNOWN: OVER\n");
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[9] drain            -> remember UNKNOWN, answer DRAINING: OVER\n");
    lease_trace(
        "[0] put              -> remember WAITS, start: WAITING\n"
        "[8] ruled            -> WAITING\n"
        "[9] ruled denied     -> note denial, remember UNKNOWN, answer FORBIDDEN: OVER\n");
}

CASE(right_at_grant, "A right or room that is gone when the lock comes gives it back.")
{
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[9] acquired denied until=30000 -> note denial, remember ENDED, "
                "answer FORBIDDEN, end: UNDONE\n");
    lease_trace("[0] put              -> remember WAITS, start: WAITING\n"
                "[9] acquired full until=30000 -> note quota, remember ENDED, answer QUOTA, "
                "end: UNDONE\n");
}

CASE(taken_over, "A repeated PUT takes the wait over, and counts from its own receipt.")
{
    lease_trace("[0] put                     -> remember WAITS, start: WAITING\n"
                "[5000] again put            -> answer SUPERSEDED, take: WAITING\n"
                "[5001] gone older           -> WAITING\n"
                "[6000] acquired until=36000 -> remember GRANTED, answer HELD 1000+29689, "
                "note grant: ANSWERED\n"
                "[6001] gone older           -> ANSWERED\n"
                "[6002] sent                 -> OVER\n");
}

CASE(stream_taken_over,
     "A stream that takes a wait over gets its place, and signs of life from then on.")
{
    lease_trace("[0] put stream              -> remember WAITS, start: WAITING\n"
                "[1] queued 2                -> send place: WAITING\n"
                "[5000] again put            -> answer SUPERSEDED, take, send place: WAITING\n"
                "[10000] tick                -> WAITING\n"
                "[15000] tick                -> send alive: WAITING\n");
    lease_trace("[0] put stream              -> remember WAITS, start: WAITING\n"
                "[5] again put tcp           -> answer SUPERSEDED, take: WAITING\n"
                "[6] acquired until=30006    -> remember STREAMS, "
                "send granted with grant 1+29698, note grant: STREAMING\n");
}

CASE(silent, "A wait without a stream sends neither its place nor signs of life.")
{
    lease_trace("[0] put                     -> remember WAITS, start: WAITING\n"
                "[1] queued 2                -> WAITING\n"
                "[10000] tick                -> WAITING\n");
}

CASE(asks_otherwise,
     "A PUT of a waiting id for something else is refused, and the wait goes on.")
{
    lease_trace("[0] put                  -> remember WAITS, start: WAITING\n"
                "[5] again put other      -> note yours, refuse YOURS: WAITING\n"
                "[6] again put eof        -> drop: WAITING\n"
                "[7] again delete other   -> WAITING\n"
                "[8] again resume         -> refuse YOURS_HERE: WAITING\n"
                "[8] again resume eof     -> drop: WAITING\n"
                "[8] again resume draining -> refuse DRAINING: WAITING\n"
                "[9] again delete         -> remember UNKNOWN, answer STOP: OVER\n");
}

CASE(renewed, "A renewal goes to a majority, and one that is not confirmed is not rolled back.")
{
    lease_trace("[0] post                     -> extend: RENEWING\n"
                "[4] extended until=30000     -> note held, answer HELD 4+29695: OVER\n");
    lease_trace("[0] post                     -> extend: RENEWING\n"
                "[1] gone                     -> RENEWING\n"
                "[1] drain                    -> RENEWING\n"
                "[2] lost LOST                -> RENEWING\n"
                "[4] extended NOQUORUM        -> answer FAILURE NOQUORUM: OVER\n");
    lease_trace("[0] post                     -> extend: RENEWING\n"
                "[4] extended until=5         -> answer FAILURE NOQUORUM: OVER\n");
    lease_trace(
        "[0] post                     -> extend: RENEWING\n"
        "[4] extended LOST            -> note missing LOST, answer FAILURE LOST: OVER\n");
}

CASE(not_renewed, "POST needs the grant of a lease that has not ended.")
{
    lease_trace("[0] post ungranted      -> answer NO_GRANT: OVER\n");
    lease_trace("[0] post streams        -> answer OTHER_GRANT: OVER\n");
    lease_trace("[0] post ENDED          -> answer STOP: OVER\n");
    lease_trace("[0] post GRANTED        -> extend: RENEWING\n");
}

CASE(released, "An id is spent before its release begins, and only under its own name.")
{
    lease_trace("[0] delete              -> remember ENDED, end: ENDING\n"
                "[3] released            -> note release, answer RELEASED: OVER\n");
    lease_trace("[0] delete other        -> end: ENDING\n"
                "[3] released EXPIRED    -> note missing EXPIRED, answer WAS_GONE: OVER\n");
    lease_trace("[0] delete waited       -> remember ENDED, end: ENDING\n"
                "[3] released EXPIRED    -> note missing EXPIRED, answer RELEASED: OVER\n");
    lease_trace("[0] delete              -> remember ENDED, end: ENDING\n"
                "[1] gone                -> ENDING\n"
                "[3] released NOQUORUM   -> answer FAILURE NOQUORUM: OVER\n");
}

CASE(stream, "A stream is renewed at a third of its TTL; its local client's close releases it.")
{
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] queued 2                   -> send place: WAITING\n"
                "[9999] tick                    -> WAITING\n"
                "[10000] tick                   -> send alive: WAITING\n"
                "[10001] acquired until=40000   -> remember STREAMS, "
                "send granted 10001+29998, note grant: STREAMING\n"
                "[20000] tick                   -> extend: STREAMING\n"
                "[20002] tick                   -> send alive: STREAMING\n"
                "[20003] extended until=50000   -> send renewed 20003+29996: STREAMING\n"
                "[20004] gone written        -> remember ENDED, note close, end: UNDONE\n"
                "[20006] released               -> OVER\n");
}

CASE(stream_closed_while_renewed, "A release waits for the renewal that is under way.")
{
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
                "note grant: STREAMING\n"
                "[10001] tick                   -> send alive, extend: STREAMING\n"
                "[10002] gone written        -> remember ENDED, note close: UNDONE\n"
                "[10003] extended until=40001   -> end: UNDONE\n"
                "[10004] released               -> OVER\n");
}

CASE(stream_cut, "A stream that this side cut is left, unless no byte of its grant was sent.")
{
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
                "note grant: STREAMING\n"
                "[2] cut written             -> remember GRANTED, note left: OVER\n");
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
                "note grant: STREAMING\n"
                "[2] cut                        -> remember ENDED, note undelivered, end: "
                "UNDONE\n");
}

CASE(stream_left, "A local stream with `leave` has its grant at once, and is left on close.")
{
    lease_trace("[0] put stream leave           -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, "
                "send granted with grant 1+29998, note grant: STREAMING\n"
                "[2] gone written            -> remember GRANTED, note left: OVER\n");
}

CASE(stream_over_tcp, "A stream over TCP has its grant at once, and is left when it breaks.")
{
    lease_trace("[0] put stream tcp             -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, "
                "send granted with grant 1+29698, note grant: STREAMING\n"
                "[10000] tick unseen            -> STREAMING\n"
                "[10001] tick unseen            -> send alive: STREAMING\n"
                "[11499] tick                   -> STREAMING\n"
                "[11500] tick denied            -> STREAMING\n"
                "[13000] tick                   -> extend: STREAMING\n"
                "[13001] gone written        -> remember GRANTED, note left: OVER\n");
}

CASE(stream_in_jeopardy,
     "A renewal that fails is reported once, tried again, and reported when it recovers.")
{
    lease_trace(
        "[0] put stream                 -> remember WAITS, start: WAITING\n"
        "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
        "note grant: STREAMING\n"
        "[10001] tick                   -> send alive, extend: STREAMING\n"
        "[10002] extended NOQUORUM until=30000 -> note jeopardy NOQUORUM, "
        "send jeopardy 10002+19997 NOQUORUM: STREAMING\n"
        "[11502] tick                   -> extend: STREAMING\n"
        "[11503] extended NOQUORUM until=30000 -> STREAMING\n"
        "[13003] tick                   -> extend: STREAMING\n"
        "[13004] extended until=43003   -> note recovery, "
        "send recovered 13004+29998: STREAMING\n"
        "[23003] tick                   -> send alive, extend: STREAMING\n"
        "[23004] extended until=53003   -> send renewed 23004+29998: STREAMING\n"
        "[23005] lost LOST -> remember ENDED, note loss LOST, answer FAILURE LOST: OVER\n");
}

CASE(stream_not_there, "A renewal that finds the lock gone ends its stream.")
{
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
                "note grant: STREAMING\n"
                "[10001] tick                   -> send alive, extend: STREAMING\n"
                "[10002] extended LOST          -> remember ENDED, note loss LOST, "
                "answer FAILURE LOST: OVER\n");
}

CASE(stream_renewed_too_late, "A renewal that leaves no time is one that failed.")
{
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
                "note grant: STREAMING\n"
                "[10001] tick                   -> send alive, extend: STREAMING\n"
                "[29999] extended until=30000   -> note jeopardy NOQUORUM, "
                "send jeopardy 29999+0 NOQUORUM: STREAMING\n");
}

CASE(stream_old,
     "A stream over TCP begins anew when the drift since its PUT is a third of its TTL.")
{
    lease_trace("[0] put stream tcp               -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000         -> remember STREAMS, "
                "send granted with grant 1+29698, note grant: STREAMING\n"
                "[1000000] tick                   -> send alive, extend: STREAMING\n"
                "[1000099] extended until=1030000 -> send renewed 1000099+19600: STREAMING\n"
                "[1010100] tick                   -> send alive, extend: STREAMING\n"
                "[1010101] extended until=1040100 -> send renewed 1010101+19597, "
                "remember GRANTED, note left, send reconnect with grant 1010101+19597: OVER\n");
    lease_trace("[0] put stream                   -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000         -> remember STREAMS, "
                "send granted 1+29998, note grant: STREAMING\n"
                "[1010100] tick                   -> send alive, extend: STREAMING\n"
                "[1010101] extended until=1040100 -> send renewed 1010101+29998: STREAMING\n");
}

CASE(stream_drained, "A stream is renewed once, left, and only then sent `reconnect`.")
{
    lease_trace("[0] put stream                 -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
                "note grant: STREAMING\n"
                "[5000] drain                   -> extend: STREAMING\n"
                "[5002] extended until=35000 -> send renewed 5002+29997, remember GRANTED, "
                "note left, send reconnect with grant 5002+29997: OVER\n");
    lease_trace("[0] put stream tcp             -> remember WAITS, start: WAITING\n"
                "[1] acquired until=30000       -> remember STREAMS, "
                "send granted with grant 1+29698, note grant: STREAMING\n"
                "[5000] drain unseen until=30000 -> remember GRANTED, note left, "
                "send reconnect with grant 5000+24699: OVER\n");
}

CASE(stream_resumed, "A stream that came back extends exactly its grant, and is left on close.")
{
    lease_trace("[0] resume stream GRANTED      -> remember STREAMS, extend: RESUMING\n"
                "[4] extended until=30000       -> send granted with grant 4+29995, "
                "note held: STREAMING\n"
                "[5] again resume               -> remember GRANTED, note left, "
                "answer ELSEWHERE: OVER\n");
    lease_trace("[0] resume stream              -> remember STREAMS, extend: RESUMING\n"
                "[4] extended until=30000       -> send granted with grant 4+29995, "
                "note held: STREAMING\n"
                "[5] gone written            -> remember GRANTED, note left: OVER\n");
    lease_trace("[0] resume stream              -> remember STREAMS, extend: RESUMING\n"
                "[1] gone                       -> remember GRANTED, note left: OVER\n");
    lease_trace("[0] resume stream              -> remember STREAMS, extend: RESUMING\n"
                "[4] extended LOST              -> note missing LOST, remember ENDED, "
                "answer FAILURE LOST: OVER\n");
    lease_trace("[0] resume stream ENDED        -> answer STOP: OVER\n");
    lease_trace("[0] resume stream draining     -> answer DRAINING: OVER\n");
    lease_trace("[0] resume stream eof          -> drop: OVER\n");
}

CASE(stream_not_resumed,
     "A stream that cannot go on here is refused, and its lock is left to another replica.")
{
    lease_trace("[0] resume stream              -> remember STREAMS, extend: RESUMING\n"
                "[1] lost LOST                  -> RESUMING\n"
                "[4] extended NOQUORUM          -> remember GRANTED, "
                "answer FAILURE NOQUORUM: OVER\n");
    lease_trace("[0] resume stream              -> remember STREAMS, extend: RESUMING\n"
                "[4] extended draining until=30000 -> remember GRANTED, "
                "answer DRAINING: OVER\n");
    lease_trace("[0] resume stream              -> remember STREAMS, extend: RESUMING\n"
                "[29999] extended until=30000   -> remember GRANTED, answer LATE: OVER\n");
}

CASE(stream_repeated, "A stream that a close releases is not given away to what comes back.")
{
    lease_trace(
        "[0] put stream                 -> remember WAITS, start: WAITING\n"
        "[1] acquired until=30000       -> remember STREAMS, send granted 1+29998, "
        "note grant: STREAMING\n"
        "[2] again resume               -> refuse YOURS_HERE: STREAMING\n"
        "[3] again put                  -> note yours, refuse YOURS: STREAMING\n"
        "[4] again post                 -> STREAMING\n"
        "[5] again delete               -> remember ENDED, note left, answer STOP: OVER\n");
}

CASE(deadline,
     "after_ms and remaining_ms together end before the library's deadline, less the drift.")
{
    const int64_t ms = RL_NS_PER_MS;
    struct lease_deadline d = lease_deadline_of(1000 * ms, 1012 * ms, 31000 * ms, 10000);

    CHECK_INT(12, d.after_ms);
    CHECK_INT(29988 - 300 - 1, d.remaining_ms);
    d = lease_deadline_of(1000 * ms, 1012 * ms + 999999, 31000 * ms, 0);
    CHECK_INT(12, d.after_ms);
    CHECK_INT(29987 - 1, d.remaining_ms);
    CHECK_INT(31000 * ms, d.deadline_ns);
    CHECK_INT(0, lease_deadline_of(1000 * ms, 1012 * ms, 1012 * ms, 0).remaining_ms);
    CHECK_INT(0, lease_deadline_of(1000 * ms, 9000 * ms, 1012 * ms, 0).remaining_ms);
}
