// lane: not quick
import { expect } from 'chai';
import { adminTree, protoFolder, treeOf } from '../../proto/tree.js';
import { openapiFile } from '../../tools/gen/openapi.js';
import { permissionsPage } from '../../tools/gen/permissions.js';
import { problemsOf } from '../../tools/gen/problems.js';
import { readProtos, treeFile } from '../../tools/gen/read-protos.js';
import { messagesFile } from '../../tools/gen/types.js';
import { serviceOf, treeFrom } from '../support/things.js';

const access = 'option (access) = { any_of: "configs.read" resource: "thing" action: "read" };';
const rpc = (http: string, more = access): string =>
  `rpc GetThing(GetThingRequest) returns (Thing) { option (google.api.http) = { ${http} }; ${more} }`;
const messages = (field = ''): string =>
  `message GetThingRequest { string id = 1; ${field} } message Thing { string id = 1; }`;
const problems = (rpcs: string, field = '', endpoints: string[] = []): string[] =>
  problemsOf(treeFrom(serviceOf(rpcs, messages(field))), endpoints);

describe('what is generated from the proto files', () => {
  const good = 'get: "/v1/things/{id}"';

  it('finds nothing wrong with a good file', () => expect(problems(rpc(good))).to.deep.equal([]));

  const wrong: readonly (readonly [rpcs: string, field: string, problem: string])[] = [
    [rpc('get: "v1/things"'), '', 'v1/things is not a path'],
    [rpc('get: "/v1/things/{id=**}"'), '', 'is not a path of literals and {places}'],
    [
      rpc('get: "/v1/things/{nobody}"'),
      '',
      '{nobody} of /v1/things/{nobody} is no text field of GetThingRequest',
    ],
    [rpc('get: "/v1/things/{size}"'), 'int32 size = 2;', '{size} of /v1/things/{size} is no text field'],
    [rpc('get: "/v1/things" body: "*"'), '', 'GET /v1/things takes no body'],
    [rpc('post: "/v1/things"'), '', 'POST /v1/things needs body: "*"'],
    [
      rpc('post: "/v1/things" body: "id"'),
      '',
      'the body of POST /v1/things is "*", a list of messages, an object, an HttpBody, or nothing',
    ],
    [rpc(good, access.replace('configs.read', 'things.read')), '', 'asks for things.read, which is no scope'],
    [
      rpc(good, 'option (access) = { any_of: "configs.read" audited: true };'),
      '',
      'says no resource or no action',
    ],
    [rpc(`${good} additional_bindings { get: "/v1/things/{id}" }`), '', 'both answer GET /v1/things/{id}'],
    [
      rpc(good),
      'int32 size = 2 [(rules) = { pattern: "x" }];',
      'size: the rule pattern does not fit its type',
    ],
    [rpc(good), 'string name = 2 [(rules) = { max: 5 }];', 'name: the rule max does not fit its type'],
    [rpc(good), 'string name = 2 [(rules) = { pattern: "(" }];', 'Invalid regular expression'],
  ];
  for (const [rpcs, field, problem] of wrong) {
    it(`stops where ${problem}`, () => expect(problems(rpcs, field).join('\n')).to.include(problem));
  }

  const refused: readonly (readonly [file: string, problem: string])[] = [
    [serviceOf(rpc(good, ''), messages()), 'does not say who may call it'],
    [serviceOf(rpc(good), messages('int64 big = 2;')), 'int64 is not one of those the API uses'],
    [serviceOf(rpc(good), messages('string name = 2 [(alias) = "id"];')), 'two fields are spelt id'],
    [serviceOf(rpc(good), messages('map<int32, string> names = 2;')), 'keys of maps are text'],
    [serviceOf(rpc('custom: { kind: "X" path: "/v1/x" }'), messages()), 'names no path'],
    [
      serviceOf(rpc(good).replace('(GetThingRequest)', '(stream GetThingRequest)'), messages()),
      'requests do not stream',
    ],
  ];
  for (const [file, problem] of refused) {
    it(`fails where ${problem}`, () => expect(() => problemsOf(treeFrom(file), [])).to.throw(problem));
  }

  it('stops where a method takes an endpoint of the data plane', () => {
    const found = problems(rpc('get: "/v1/chat/{id}"'), '', ['/v1/chat/completions']);
    expect(found).to.deep.equal([
      'Things.GetThing takes /v1/chat/completions, which is an endpoint of the data plane.',
    ]);
  });

  it('is the same whichever way the tree was read, and each time', () => {
    const read = readProtos(protoFolder());
    for (const page of [messagesFile, openapiFile, permissionsPage])
      expect(page(treeOf(read))).to.equal(page(adminTree()));
    expect(treeFile(read)).to.equal(treeFile(readProtos(protoFolder())));
    expect(JSON.parse(treeFile(read))).to.deep.equal(
      JSON.parse(JSON.stringify(read, (_, value) => value ?? undefined)),
    );
  });
});
