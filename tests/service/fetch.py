# SPDX-License-Identifier: BSD-2-Clause
"""fetch.py PORT: as fetch.mjs, by the package requests."""
import sys

import requests

session, url = requests.Session(), f'http://127.0.0.1:{sys.argv[1]}/livez'
session.trust_env = False
for _ in range(50):
    answer = session.get(url, timeout=60)
    assert (answer.status_code, answer.json()['status']) == (200, 'alive'), answer
for body in {}, None:
    assert session.put(url, json=body, timeout=60).status_code == 405
