# SPDX-License-Identifier: BSD-2-Clause
"""/openapi.json against real answers, in both directions.

Each answer that a Checked client reads is looked up in the document: its path, method, status and type
must be there, and its body must be as the schema has it, without a field more. And each response of the
document must have been seen, and each field of each schema must have stood in some answer.
"""
import json
import re

from client import Client, Pending, Stream

TYPES = {'string': str, 'integer': int, 'boolean': bool, 'object': dict, 'array': list}
# Any request may be refused with these, for its form.
FORMS = (400, 405, 408, 411, 413, 414, 415, 417, 431, 500, 501, 505)
STATUSES = {200, 201, 204, 400, 401, 403, 405, 409, 410, 411, 412, 413, 414, 415, 422, 423, 429, 431, 501, 502, 503}


class Document:
    def __init__(self, text):
        self.api = json.loads(text)
        self.problems = []
        self.responses, self.fields, self.statuses, self.codes = set(), set(), set(), set()  # those that were seen

    def resolve(self, thing):
        while '$ref' in thing:
            at = self.api
            for step in thing['$ref'].lstrip('#/').split('/'):
                at = at[step]
            thing = at
        return thing

    def template(self, path):
        """The path of the document that this one is an instance of."""
        path, known = path.split('?')[0], self.api['paths']
        return path if path in known else next(
            each for each in known if '{' in each and path.startswith(each.split('{')[0]))

    def check(self, method, path, answer):
        operation = self.api['paths'][self.template(path)].get(method.lower(), {'responses': {}})
        where, key = f'{method} {path}: {answer.status}', str(answer.status)
        if key not in operation['responses']:
            key = 'default'
            if answer.status not in FORMS:
                self.problems.append(f'{where} is not in the document')
                return
        self.statuses.add(answer.status)
        if answer.status >= 400:
            self.codes.add(answer.json['code'])
        self.responses.add((self.template(path), method.lower(), key))
        response = self.resolve(operation['responses'].get(key) or
                                self.api['components']['responses']['Refused'])
        self.problems += [f'{where} has no {header}' for header, described in response.get('headers', {}).items()
                          if header not in answer.headers and described.get('required') is not False]
        self._check_content(where, response.get('content', {}), answer)

    def _check_content(self, where, content, answer):
        if not content:
            if answer.text:
                self.problems.append(f'{where} has a body')
            return
        (kind, described), = [item for item in content.items() if item[0] != 'text/event-stream']
        if answer.headers['Content-Type'] != kind:
            self.problems.append(f'{where} is {answer.headers["Content-Type"]}')
        elif 'json' in kind:
            self._check_value(where, described['schema'], answer.json)

    def check_event(self, method, path, word, data):
        template = self.template(path)
        self.statuses.add(200)
        self.responses.add((template, method.lower(), '200'))
        events = self.api['paths'][template][method.lower()]['responses']['200']['x-events']
        if word not in events:
            self.problems.append(f'{method} {path}: event {word} is not in the document')
        else:
            self._check_value(f'{method} {path}: {word}', events[word], data)

    def _check_value(self, where, schema, value):
        name, schema = schema['$ref'].split('/')[-1] if '$ref' in schema else None, self.resolve(schema)
        if value is None:
            if not schema.get('nullable'):
                self.problems.append(f'{where} is null')
            return
        wanted = TYPES[schema['type']]
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            self.problems.append(f'{where} is {value!r}, and no {schema["type"]}')
        elif 'enum' in schema and value not in schema['enum']:
            self.problems.append(f'{where} is {value!r}')
        elif 'pattern' in schema and not re.fullmatch(schema['pattern'], value):
            self.problems.append(f'{where} is {value!r}, and not {schema["pattern"]}')
        elif wanted is list:
            for element in value:
                self._check_value(where + '[]', schema['items'], element)
        elif wanted is dict and 'properties' in schema:
            self.problems += [f'{where} has no {field}' for field in set(schema['required']) - set(value)]
            for field, inner in value.items():
                if field not in schema['properties']:
                    self.problems.append(f'{where} has {field}, which the document does not')
                    continue
                self.fields.add((name, field))
                self._check_value(f'{where}.{field}', schema['properties'][field], inner)

    def unseen(self):
        """What the document has, and no answer had."""
        found = [f'{method} {path}: {status}' for path, item in self.api['paths'].items()
                 for method, operation in item.items() if method != 'parameters'
                 for status in operation['responses']
                 if status != 'default' and (path, method, status) not in self.responses]
        found += [f'{name}.{field}' for name, schema in self.api['components']['schemas'].items()
                  if not name.endswith('Request')
                  for field in schema.get('properties', {}) if (name, field) not in self.fields]
        return found + [f'status {status}' for status in sorted(STATUSES - self.statuses)]


class CheckedPending(Pending):
    def answer(self):
        answer = super().answer()
        self.client.document.check(self.method, self.path, answer)
        return answer


class CheckedStream(Stream):
    def __init__(self, pending):
        super().__init__(pending)
        self.pending = pending

    def next(self):
        word, data = super().next()
        if word:
            self.pending.client.document.check_event(self.pending.method, self.pending.path, word, data)
        return word, data


class Checked(Client):
    pending, stream = CheckedPending, CheckedStream
    document = None
