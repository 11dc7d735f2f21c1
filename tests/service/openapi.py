# SPDX-License-Identifier: BSD-2-Clause
"""openapi.py REDLOCKD SOCKET PORT LOCAL-SOCKETS...: /openapi.json against real answers.

Every answer of the daemons is looked up in the document: its path, method, status and type must be
there, its body must be as the schema says, without a field more. And the other way round: every
response of the document was seen, and every field of every schema stood in some answer.
"""
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time

good, port, refusing, lonely, capped, mixed = sys.argv[1], int(sys.argv[2]), *sys.argv[3:7]
problems = []
seen_responses = set()
seen_fields = set()
seen_events = set()
statuses = set()


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost', timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def fetch(where, method, path, headers=None, body=None):
    client = http.client.HTTPConnection('127.0.0.1', where, timeout=60) if isinstance(where, int) else Unix(where)
    client.request(method, path, body, headers or {})
    answer = client.getresponse()
    text = answer.read()
    client.close()
    return answer, text


api = json.loads(fetch(good, 'GET', '/openapi.json')[1])


def resolve(thing):
    while '$ref' in thing:
        at = api
        for step in thing['$ref'].lstrip('#/').split('/'):
            at = at[step]
        thing = at
    return thing


def name_of(schema):
    return schema['$ref'].split('/')[-1] if '$ref' in schema else None


# ---- an answer against the document ----

TYPES = {'string': str, 'integer': int, 'boolean': bool, 'object': dict, 'array': list}


def check_value(where, schema, value):
    name, schema = name_of(schema), resolve(schema)
    if value is None:
        if not schema.get('nullable'):
            problems.append(f'{where} is null')
        return
    wanted = TYPES[schema['type']]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        problems.append(f'{where} is {value!r}, and no {schema["type"]}')
    elif 'enum' in schema and value not in schema['enum']:
        problems.append(f'{where} is {value!r}')
    elif 'pattern' in schema and not re.fullmatch(schema['pattern'], value):
        problems.append(f'{where} is {value!r}, and not {schema["pattern"]}')
    elif wanted is list:
        for element in value:
            check_value(where + '[]', schema['items'], element)
    elif wanted is dict and 'properties' in schema:
        for field in set(schema['required']) - set(value):
            problems.append(f'{where} has no {field}')
        for field, inner in value.items():
            if field not in schema['properties']:
                problems.append(f'{where} has {field}, which the document does not')
                continue
            seen_fields.add((name, field))
            check_value(f'{where}.{field}', schema['properties'][field], inner)


def find_path(path):
    path = path.split('?')[0]
    if path in api['paths']:
        return path
    below = [known for known in api['paths'] if '{' in known and path.startswith(known.split('{')[0])]
    return below[0] if below else None


def check_answer(method, path, answer, text):
    template = find_path(path)
    operation = api['paths'][template].get(method.lower(), {'responses': {}})
    status = str(answer.status)
    where = f'{method} {path}: {status}'
    key = status if status in operation['responses'] else 'default'
    if key == 'default' and answer.status not in (400, 405, 408, 411, 413, 414, 415, 417, 431, 500, 501, 505):
        problems.append(f'{where} is not in the document')
        return
    statuses.add(answer.status)
    seen_responses.add((template, method.lower(), key))
    response = resolve(operation['responses'].get(key) or api['components']['responses']['Refused'])
    for header, described in response.get('headers', {}).items():
        if header not in answer.headers and described.get('required') is not False:
            problems.append(f'{where} has no {header}')
    content = response.get('content', {})
    if not content:
        if text:
            problems.append(f'{where} has a body')
        return
    (kind, described), = [item for item in content.items() if item[0] != 'text/event-stream']
    if answer.headers['Content-Type'] != kind:
        problems.append(f'{where} is {answer.headers["Content-Type"]}')
    elif 'json' in kind:
        check_value(where, described['schema'], json.loads(text))


def ask(where, method, path, expected=None, lease=None, grant=None, body=None, **more):
    headers = {key.replace('_', '-'): value for key, value in more.items()}
    if lease:
        headers['Lease-Id'] = lease
    if grant:
        headers['Grant'] = grant
    if body is not None and 'Content-Type' not in headers:
        headers['Content-Type'] = 'application/json'
    answer, text = fetch(where, method, path, headers, body)
    check_answer(method, path, answer, text)
    if expected is not None and answer.status != expected:
        problems.append(f'{method} {path}: {answer.status} instead of {expected}: {text[:200]!r}')
    return json.loads(text) if 'json' in (answer.headers['Content-Type'] or '') else None


count = 0


def new_id():
    global count
    count += 1
    return 'lease-of-the-openapi-test-%04d' % count


LOCK = '/v1/locks/a/b'
LEADER = '/v1/leaders/a/b'

# ---- streams ----

def check_event(where, events, word, data):
    if word not in events:
        problems.append(f'{where}: event {word} is not in the document')
        return
    seen_events.add((where, word))
    check_value(f'{where}: {word}', events[word], data)


class Stream:
    """A request whose answer is a stream of events."""

    def __init__(self, where, method, path, lease=None, grant=None, body=None, token='streamer'):
        self.client = http.client.HTTPConnection('127.0.0.1', where, timeout=60) if isinstance(where, int) else Unix(where)
        headers = {'Accept': 'text/event-stream'}
        if lease:
            headers.update({'Lease-Id': lease, 'Content-Type': 'application/json'})
        if grant:
            headers['Grant'] = grant
        if isinstance(where, int):
            headers['Authorization'] = 'Bearer ' + token
        self.client.request(method, path, body, headers)
        self.answer = self.client.getresponse()
        self.where = (find_path(path), method.lower())
        if self.answer.status != 200 or self.answer.headers['Content-Type'] != 'text/event-stream':
            problems.append(f'{method} {path}: no stream: {self.answer.status} {self.answer.read()!r}')
        statuses.add(200)
        seen_responses.add((*self.where, '200'))
        self.events = api['paths'][self.where[0]][self.where[1]]['responses']['200']['x-events']

    def next(self):
        word = None
        while True:
            line = self.answer.readline().decode()
            if not line:
                return None, None
            if line.startswith('event: '):
                word = line[7:].strip()
            elif line.startswith('data: '):
                data = json.loads(line[6:])
                check_event(self.where, self.events, word, data)
                return word, data

    def until(self, wanted):
        """Reads until this event; its data."""
        while True:
            word, data = self.next()
            if word is None or word == wanted:
                return data

    def close(self):
        self.answer.close()
        self.client.close()


# ---- a lease ----

lease = new_id()
held = ask(good, 'PUT', LOCK, 201, lease, body='{"ttl_ms":30000,"label":"openapi"}')
grant = held['grant']
ask(good, 'PUT', LOCK, 409, lease, body='{}')
ask(good, 'GET', LEADER, 200, lease)
ask(good, 'POST', LOCK, 200, lease, grant, '{"ttl_ms":30000}')
ask(good, 'PUT', LOCK, 423, new_id(), body='{}')
found = ask(good, 'GET', LOCK, 200)
ask(good, 'GET', '/v1/locks', 200)
waiting = new_id()


def wait():
    ask(good, 'PUT', LOCK, 409, waiting, body='{"wait_ms":50000,"label":"first"}')


def wait_more():
    ask(good, 'PUT', LOCK, 410, waiting, body='{"wait_ms":50000,"label":"first"}')


def until(wanted):
    end = time.monotonic() + 60
    while not wanted():
        assert time.monotonic() < end, 'it takes too long'


first = threading.Thread(target=wait)
first.start()
until(lambda: ask(good, 'GET', LOCK, 200)['queue'])
second = threading.Thread(target=wait_more)
second.start()
first.join()
ask(good, 'DELETE', LOCK, 204, waiting)
second.join()
BREAK = LOCK.replace('locks', 'breaks')
ask(good, 'POST', BREAK, 412, body=json.dumps({'fingerprint': '0' * 40}))
ask(good, 'POST', BREAK, 200, body=json.dumps({'fingerprint': found['holders'][0]['fingerprint']}))
ask(good, 'POST', BREAK, 422, body='{}')
ask(good, 'POST', BREAK, 422, body=json.dumps({'fingerprint': '0' * 40, 'name': 'x'}))
ask(good, 'POST', BREAK, 422, body=json.dumps({'fingerprint': '0' * 39}))
ask(good, 'POST', BREAK + '?x=1', 400, body=json.dumps({'fingerprint': '0' * 40}))
ask(good, 'GET', BREAK, 405)
ask(good, 'POST', LOCK, 410, lease, grant, '{}')
ask(good, 'DELETE', LOCK, 410, lease, grant)
ask(good, 'PUT', LOCK, 410, lease, body='{}')

# ---- a stream, and a feed that tells of it ----

feed = Stream(good, 'GET', '/v1/events')
stream = Stream(good, 'PUT', '/v1/locks/stream', new_id(), body='{"ttl_ms":3000,"label":"holder"}')
stream.until('granted')
feed.until('granted')
behind = Stream(good, 'PUT', '/v1/locks/stream', new_id(), body='{"wait_ms":20000}')
behind.until('queued')
impatient = Stream(good, 'PUT', '/v1/locks/stream', new_id(), body='{"wait_ms":2000}')
impatient.until('lost')
stream.until('renewed')
mark = ask(good, 'GET', '/v1/locks/stream', 200)['holders'][0]['fingerprint']
ask(good, 'POST', '/v1/breaks/stream', 200, body=json.dumps({'fingerprint': mark}))
feed.until('broken')
stream.until('lost')
behind.until('granted')
behind.close()
feed.until('released')
distant = Stream(port, 'PUT', '/v1/locks/distant', new_id(), body='{}')
if 'grant' not in distant.until('granted'):
    problems.append('a stream by TCP is not told its grant')
distant.close()
ask(good, 'GET', '/v1/events?x=1', 400)
ask(port, 'GET', '/v1/events', 401)
feeds = [Stream(good, 'GET', '/v1/events') for _ in range(63)]
ask(good, 'GET', '/v1/events', 429)
feeds += [Stream(port, 'GET', '/v1/events', token=token) for token in ('powerless', 'reader1', 'reader2') for _ in range(64)]
ask(port, 'GET', '/v1/events', 503, Authorization='Bearer reader3')
for each in feeds:
    each.close()
feed.close()

# ---- what is wrong with the request ----

ask(good, 'PUT', LOCK, 400, 'short', body='{}')
ask(good, 'POST', LOCK, 400, new_id(), body='{}')
ask(good, 'DELETE', LOCK, 400)
ask(good, 'GET', '/v1/locks/a//b', 400)
ask(good, 'GET', LEADER + '?term=x', 400)
ask(good, 'GET', '/v1/locks?limit=0', 400)
ask(good, 'GET', '/readyz?x=1', 400)
ask(good, 'PUT', LOCK, 422, new_id(), body='{"ttl":1}')
ask(good, 'POST', LOCK, 422, lease, grant, '{"ttl":1}')
ask(good, 'POST', '/v1/status', 405, body='{}')
ask(good, 'PUT', LOCK, 413, new_id(), body=' ' * 9000)
ask(good, 'GET', '/v1/locks/' + 'a' * 5000, 414)
ask(good, 'PUT', LOCK, 415, new_id(), body='{}', Content_Type='text/plain')
ask(good, 'GET', LOCK, 431, X='x' * 8200)
ask(good, 'PUT', LOCK, 501, new_id(), body='{}', Transfer_Encoding='chunked')


def ask_raw(text, path, expected):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(good)
    client.sendall(text)
    answer = http.client.HTTPResponse(client)
    answer.begin()
    check_answer(text.split(b' ')[0].decode(), path, answer, answer.read())
    if answer.status != expected:
        problems.append(f'{text!r}: {answer.status} instead of {expected}')
    client.close()


ask_raw(b'PUT /v1/locks/a HTTP/1.1\r\nHost: h\r\n\r\n', '/v1/locks/a', 411)

# ---- rights and caps: the token may do nothing, the rules of the third daemon little ----

for method, path in [('PUT', LOCK), ('POST', LOCK), ('POST', BREAK), ('DELETE', LOCK), ('GET', LOCK), ('GET', LEADER), ('GET', '/v1/locks'),
                     ('GET', '/v1/nodes'), ('GET', '/v1/status'), ('GET', '/metrics')]:
    body = None if method in ('GET', 'DELETE') else '{}'
    ask(port, method, path, 401, new_id(), grant, body)
    ask(port, method, path, 200 if path in ('/v1/locks', '/v1/status') else 403, new_id(), grant, body,
        Authorization='Bearer powerless')
for path in '/v1/status', '/v1/locks', '/v1/events':
    ask(port, 'GET', path, 403, Authorization='Bearer streamer')
ask(good, 'GET', '/v1/status?locks=0', 400)


def flood(method, path, lease=None, grant=None, body=None, where=capped, **more):
    """Until the rule has no room for more: one request a second, and one lease."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        headers = {'Lease-Id': lease or new_id(), 'Content-Type': 'application/json', **more}
        if grant:
            headers['Grant'] = grant
        answer, text = fetch(where, method, path, headers if lease or body else {}, body)
        check_answer(method, path, answer, text)
        if answer.status == 429:
            return
    problems.append(f'{method} {path}: no 429')


lease = new_id()
held = ask(capped, 'PUT', '/v1/locks/one', 201, lease, body='{"ttl_ms":60000}')
flood('PUT', '/v1/locks/two', body='{}')
flood('POST', '/v1/locks/one', lease, held['grant'], '{"ttl_ms":60000}')
for path in ('/v1/locks/one', '/v1/leaders/one', '/v1/locks', '/v1/nodes', '/v1/status', '/metrics'):
    flood('GET', path)
answer, text = fetch(capped, 'GET', '/v1/events')
check_answer('GET', '/v1/events', answer, text)
flood('DELETE', '/v1/locks/one', new_id())
flood('POST', BREAK, body='{}', where=port, Authorization='Bearer stranger')
ask(capped, 'DELETE', '/v1/locks/one', 204, lease, held['grant'])

# ---- how it is ----

lease = new_id()
ask(good, 'PUT', LOCK, 201, lease, body='{"label":"x"}')
for path in ('/v1/nodes', '/v1/status', '/v1/status?locks=5', '/metrics', '/readyz', '/readyz?verbose', '/livez', '/version',
             '/openapi.json', '/'):
    ask(good, 'GET', path, 200)
ask(good, 'DELETE', LOCK, 204, lease)

# ---- nodes that refuse the daemon, and nodes that are not there ----

for where, expected in ((refusing, 502), (lonely, 503)):
    lease = new_id()
    ask(where, 'PUT', LOCK, expected, lease, body='{}')
    ask(where, 'POST', LOCK, expected, lease, grant, '{}')
    ask(where, 'DELETE', LOCK, expected, lease)
    ask(where, 'POST', BREAK, expected, body=json.dumps({'fingerprint': '0' * 40}))
    ask(where, 'GET', LOCK, expected)
    ask(where, 'GET', LEADER, expected)
    ask(where, 'GET', '/v1/locks', expected)
ask(lonely, 'GET', '/readyz?verbose', 503)
ask(lonely, 'GET', '/v1/status', 200)
ask(lonely, 'GET', '/v1/nodes', 200)
ask(mixed, 'GET', '/v1/locks/one', 200)  # one node of it is a group

# ---- nodes that go: the last, since it leaves the good daemon without a majority ----

feed = Stream(good, 'GET', '/v1/events')
stream = Stream(good, 'PUT', '/v1/locks/stream', new_id(), body='{"ttl_ms":3000}')
stream.until('granted')
for number in '1', '2':
    subprocess.run(['redlock', 'dev', 'kill', number], check=True, stdout=subprocess.DEVNULL)
stream.until('jeopardy')
stream.until('lost')
left = {'node', 'jeopardy', 'lost'}
while left:
    left.discard(feed.next()[0])
ask(good, 'GET', '/v1/status?locks=5', 200)

# ---- the other way round ----

for path, item in api['paths'].items():
    for method, operation in item.items():
        if method == 'parameters':
            continue
        for status in operation['responses']:
            if status != 'default' and (path, method, status) not in seen_responses:
                problems.append(f'{method} {path}: {status} was never seen')
for name, schema in api['components']['schemas'].items():
    if name.endswith('Request'):
        continue
    for field in schema.get('properties', {}):
        if (name, field) not in seen_fields:
            problems.append(f'{name}.{field} was never seen')
table = {200, 201, 204, 400, 401, 403, 405, 409, 410, 411, 412, 413, 414, 415, 422, 423, 429, 431, 501, 502, 503}
problems += [f'status {status} was never seen' for status in sorted(table - statuses)]
texts = re.findall(r'"operationId": *"([^"]*)"', json.dumps(api))
if len(texts) != len(set(texts)):
    problems.append('an operationId stands twice')
print('\n'.join(problems) if problems else 'fine')
