# SPDX-License-Identifier: BSD-2-Clause
"""The judgement of a soak, on samples made by hand: each limit once kept and once exceeded."""
import unittest

from soak import DESCRIPTORS, DESCRIPTORS_PER_HOUR, MEMORY_KIB, MEMORY_KIB_PER_HOUR, Sample, judge

HOUR_S, EVERY_S = 3600, 10


def life(pid, process, rss_kib=(5000, 5000), descriptors=(20, 20), seconds=(0, HOUR_S), state="S"):
    """An hour of a process that has the first of something at its start and the last at its end."""
    first_s, last_s = seconds
    for at_s in range(first_s, last_s + 1, EVERY_S):
        part = (at_s - first_s) / (last_s - first_s)
        between = lambda ends: int(ends[0] + part * (ends[1] - ends[0]))
        yield Sample(at_s, pid, process, state, between(rss_kib), 100, between(descriptors), at_s * 10)


def judged(*lives):
    return judge([sample for each in lives for sample in each])


def grown(verdict):
    return {g.process: g.grew for g in verdict.judged if g.grew}


class Judgement(unittest.TestCase):
    def test_flat(self):
        """A process that keeps its memory and descriptors for an hour has not grown."""
        verdict = judged(life(7, "steady"))
        self.assertEqual((len(verdict.judged), grown(verdict)), (1, {}))
        self.assertAlmostEqual(verdict.judged[0].cpu_percent, 1)

    def test_memory(self):
        """Memory that grows by more than the limit in an hour is found, and less is not."""
        limit = MEMORY_KIB_PER_HOUR + 2 * MEMORY_KIB  # the middles of the quarters are half an hour apart
        verdict = judged(life(7, "modest", (5000, 4900 + limit)), life(8, "leaking", (5000, 5200 + limit)))
        self.assertEqual(grown(verdict), {"leaking": ["MEMORY"]})

    def test_descriptors(self):
        """Descriptors that grow by more than the limit in an hour are found."""
        limit = DESCRIPTORS_PER_HOUR + 2 * DESCRIPTORS
        verdict = judged(life(7, "modest", descriptors=(20, 18 + limit)),
                         life(8, "leaking", descriptors=(20, 24 + limit)))
        self.assertEqual(grown(verdict), {"leaking": ["DESCRIPTORS"]})

    def test_short_lives(self):
        """A process that lived for less than half of the run is not judged."""
        verdict = judged(life(7, "steady"), life(8, "brief", (5000, 99000), seconds=(0, HOUR_S // 3)))
        self.assertEqual((len(verdict.judged), verdict.lives, grown(verdict)), (1, 2, {}))

    def test_reused_numbers(self):
        """Two processes that had one number one after the other are judged apart."""
        verdict = judged(life(7, "steady"), life(8, "first", seconds=(0, 600)),
                         life(8, "first", (9000, 9000), seconds=(2400, HOUR_S)))
        self.assertEqual((verdict.lives, len(verdict.judged), grown(verdict)), (3, 1, {}))

    def test_zombies(self):
        """A process that is dead and not reaped for half a minute is counted."""
        steady = list(life(7, "steady"))
        dead = lambda seconds: life(8, "dead", (0, 0), (0, 0), seconds, "Z")
        self.assertEqual(judged(steady, dead((100, 120))).zombies, 0)
        self.assertEqual(judged(steady, dead((100, 140))).zombies, 1)

    def test_nothing(self):
        """A file without a process that can be judged gives no verdict."""
        self.assertEqual(judged().judged, [])


if __name__ == "__main__":
    unittest.main()
