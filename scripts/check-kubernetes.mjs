// SPDX-License-Identifier: BSD-2-Clause
// check-kubernetes.mjs MODULES FILE...: every document of the manifests against the schema of its kind, as package
// kubernetes-models below MODULES has it, and with no field that the schema does not know. Prints the documents as JSON.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'here'));

// The schemas let unknown fields pass, as the API server does, and a misspelt one would have no effect. What a validator
// does not know it does not read.
function watched(value, at, unread) {
  if (value === null || typeof value !== 'object') return value;
  for (const key of Object.keys(value)) unread.add(`${at}/${key}`);
  return new Proxy(value, {
    get(target, key) {
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return target[key];
      unread.delete(`${at}/${key}`);
      return watched(target[key], `${at}/${key}`, unread);
    },
  });
}

const documents = files.flatMap((file) => require('js-yaml').loadAll(fs.readFileSync(file, 'utf8')));
for (const document of documents) {
  const { apiVersion, kind, metadata } = document;
  const group = { v1: 'core/v1' }[apiVersion] ?? apiVersion;
  const name = group.split('/').map((word) => word.replace(/\.k8s\.io$/, ''))
    .map((word) => word[0].toUpperCase() + word.slice(1)).join('');
  const { validate } = await import(path.resolve(modules, `node_modules/kubernetes-models/_schemas/IoK8sApi${name}${kind}.js`));
  const unread = new Set();
  const problems = validate(watched(document, '', unread)) ? [] : validate.errors.map((e) => `${e.instancePath} ${e.keyword}`);
  for (const field of unread) problems.push(`${field} is unknown`);
  for (const problem of problems) console.error(`not ok - ${kind} ${metadata.name}: ${problem}`);
  if (problems.length) process.exitCode = 1;
}
console.log(JSON.stringify(documents));
