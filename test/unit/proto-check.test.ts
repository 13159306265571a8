import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { adminTree, protoFolder } from '../../proto/tree.js';
import { breaksOf, unannounced } from '../../tools/gen/breaks.js';
import { fileProblems, namingProblems } from '../../tools/gen/proto-lint.js';
import { apiFile, apiOf } from '../../tools/gen/released-api.js';
import { serviceOf, treeFrom } from '../support/things.js';

const access = 'option (access) = { any_of: "configs.read" resource: "thing" action: "read" };';
const rpc = (name = 'GetThing', response = 'Thing', binding = 'get: "/v1/things/{id}"'): string =>
  `// Returns a thing.
   rpc ${name}(GetThingRequest) returns (${response}) { option (google.api.http) = { ${binding} }; ${access} }`;
const fields = `string id = 1;
  optional string name = 2 [(alias) = "title"];
  string state = 3 [(rules) = { in: "on off" }];
  repeated string tags = 4;`;
const file = (taken: string, given = fields, method = rpc()): string =>
  `// Things.\n${serviceOf(method, `message GetThingRequest { ${taken} } message Thing { ${given} } message Other { string id = 1; }`)}`;
const before = apiOf(treeFrom(file(fields)));
const changed = (from: string, to: string): string => {
  expect(fields).to.include(from);
  return fields.replace(from, to);
};

describe('breaking changes of the proto files', () => {
  const ofRequests: readonly (readonly [what: string, from: string, to: string, found: string])[] = [
    ['a removed field', 'repeated string tags = 4;', '', 'GetThingRequest.tags was removed'],
    ['a renamed field', 'tags = 4', 'labels = 4', 'GetThingRequest.tags was renamed to labels'],
    ['a changed number', 'tags = 4', 'tags = 5', 'GetThingRequest.tags has the number 5 and had 4'],
    ['a changed type', 'string state', 'bytes state', 'GetThingRequest.state is a bytes and was a string'],
    ['a field that is no list now', 'repeated string tags', 'string tags', 'is single and was repeated'],
    ['a field that is always there now', 'optional string name', 'string name', 'is single and was optional'],
    [
      'another name in JSON',
      '"title"]',
      '"title", json_name = "theName"]',
      'is theName in JSON and was name',
    ],
    ['a removed alias', ' [(alias) = "title"]', '', 'is no longer taken as title in JSON'],
    [
      'a field that is required now',
      'tags = 4',
      'tags = 4 [(rules) = { required: true }]',
      'is required and was not',
    ],
    ['a value that is not taken now', '"on off"', '"on"', 'no longer takes off'],
    ['values where any was taken', 'tags = 4', 'tags = 4 [(rules) = { in: "a" }]', 'takes only some values'],
  ];
  for (const [what, from, to, found] of ofRequests) {
    it(`are found: ${what}`, () => {
      const after = apiOf(treeFrom(file(changed(from, to))));
      const [first, ...more] = breaksOf(before, after);
      expect(first?.text).to.include(found);
      expect(more).to.deep.equal([]);
    });
  }

  const ofMethods: readonly (readonly [what: string, method: string, found: string])[] = [
    ['a removed method', rpc('FindThing'), 'Things.GetThing was removed'],
    ['another response', rpc('GetThing', 'Other'), 'Things.GetThing returns a Other and returned a Thing'],
    ['a stream of responses', rpc('GetThing', 'stream Thing'), 'Things.GetThing streams its responses'],
    ['another path', rpc('GetThing', 'Thing', 'get: "/v1/thing/{id}"'), 'by GET /v1/things/{id}'],
  ];
  for (const [what, method, found] of ofMethods) {
    it(`are found: ${what}`, () => {
      const texts = breaksOf(before, apiOf(treeFrom(file(fields, fields, method)))).map(({ text }) => text);
      expect(texts.join('\n')).to.include(found);
    });
  }

  it('are not: new methods, messages, fields, aliases, paths and values', () => {
    const more = changed('"on off"', '"on off idle"').replace(
      'tags = 4;',
      'tags = 4 [(alias) = "labels"]; bool new = 5;',
    );
    const method = `${rpc('GetThing', 'Thing', 'get: "/v1/things/{id}" additional_bindings { get: "/v1/thing/{id}" }')}
      // Returns another.
      rpc FindThing(FindThingRequest) returns (Other) { option (google.api.http) = { get: "/v1/find" }; ${access} }`;
    const body = `${file(more, more, method)} message FindThingRequest { string id = 1; }`;
    expect(breaksOf(before, apiOf(treeFrom(body)))).to.deep.equal([]);
  });

  it('are not, of what is only returned: a rule', () => {
    const given = changed('"on off"', '"on"').replace('tags = 4', 'tags = 4 [(rules) = { required: true }]');
    expect(breaksOf(before, apiOf(treeFrom(file(fields, given))))).to.deep.equal([]);
  });

  it('pass where the changelog announces them in its first section', () => {
    const found = breaksOf(before, apiOf(treeFrom(file(changed('repeated string tags = 4;', '')))));
    const heading = '# Changelog\n\n## Unreleased\n\n';
    const line = '- `GetThingRequest.tags` is gone.\n';
    expect(unannounced(found, `${heading}### Breaking\n\n${line}`)).to.deep.equal([]);
    expect(unannounced(found, `${heading}### Added\n\n${line}`)).to.deep.equal(found);
    expect(unannounced(found, `${heading}## 0.1.0\n\n### Breaking\n\n${line}`)).to.deep.equal(found);
  });

  it('are compared with a file that holds all of the API', () => {
    const api = apiOf(adminTree());
    expect(JSON.parse(apiFile(api))).to.deep.equal(api);
    expect(Object.keys(api.methods)).to.have.length.above(100);
  });
});

describe('the lint of the proto files', () => {
  it('finds nothing wrong with those of the product', () => {
    expect([...fileProblems(protoFolder()), ...namingProblems(adminTree())]).to.deep.equal([]);
  });

  const wrong: readonly (readonly [body: string, problem: string])[] = [
    [file(fields, 'string theId = 1;'), 'Thing.theId: fields are named in lower_snake_case.'],
    [file(fields, 'string id = 19500;'), 'Thing.id: the numbers 19000 to 19999'],
    [file(fields).replace('// Things.', ''), 'Things: a comment says what the service is about.'],
    [
      file(fields).replace('// Returns a thing.', ''),
      'Things.GetThing: a comment says what the method does.',
    ],
    [file(fields, fields, rpc('ReadThing')), 'Things.ReadThing: its request is named ReadThingRequest.'],
    [file(fields, fields, rpc('getThing')), 'Things.getThing: methods are named in PascalCase.'],
    [
      file(fields).replaceAll(' Thing ', ' thing ').replace('(Thing)', '(thing)'),
      'thing: messages are named in PascalCase.',
    ],
    [file(fields).replace('service Things', 'service things'), 'things: services are named in PascalCase.'],
  ];
  for (const [body, problem] of wrong) {
    it(`finds ${problem}`, () => expect(namingProblems(treeFrom(body)).join('\n')).to.include(problem));
  }

  it('finds files out of place, without a version, of another syntax, and imports that nothing uses', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-lint-'));
    const write = (place: string, text: string): void => {
      mkdirSync(dirname(join(folder, place)), { recursive: true });
      writeFileSync(join(folder, place), text);
    };
    try {
      write('headgate/v1/kind.proto', 'syntax = "proto3"; package headgate.v1; message Kind {}');
      write(
        'headgate/v1/used.proto',
        `syntax = "proto3"; package headgate.v1;
         import "headgate/v1/kind.proto"; import "google/protobuf/timestamp.proto";
         message Used { Kind kind = 1; google.protobuf.Timestamp at = 2; }`,
      );
      expect(fileProblems(folder)).to.deep.equal([]);
      write(
        'headgate/odd.proto',
        `syntax = "proto2"; package headgate.other;
         import "headgate/v1/kind.proto"; import "google/protobuf/timestamp.proto"; // Kind, Timestamp
         message Odd { OtherKind kind = 1; }`,
      );
      expect(fileProblems(folder)).to.deep.equal([
        'headgate/odd.proto: the syntax is proto3.',
        'headgate/odd.proto: its package headgate.other is not its folder.',
        'headgate/odd.proto: its package ends with a version, as in .v1.',
        'headgate/odd.proto: nothing of headgate/v1/kind.proto is used.',
        'headgate/odd.proto: nothing of google/protobuf/timestamp.proto is used.',
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
