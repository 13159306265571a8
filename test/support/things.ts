import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AdminMethod, type AdminTree, treeOf } from '../../proto/tree.js';
import { readProtos } from '../../tools/gen/read-protos.js';

/** The tree of a proto file, `body` of which is given; its head is always the same. */
export function treeFrom(body: string): AdminTree {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-protos-'));
  const file = join(folder, 'headgate/admin/v1/things.proto');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `syntax = "proto3";
    package headgate.admin.v1;
    import "google/api/annotations.proto";
    import "google/api/httpbody.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "headgate/admin/v1/options.proto";
    ${body}`,
  );
  try {
    return treeOf(readProtos(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A file with one service; `rpcs` and `messages` as in a proto file. */
export const serviceOf = (rpcs: string, messages: string): string => `service Things { ${rpcs} } ${messages}`;

/** A method with a field of every kind. */
export function updateThing(): AdminMethod {
  const tree = treeFrom(
    serviceOf(
      `rpc UpdateThing(UpdateThingRequest) returns (Thing) {
        option (google.api.http) = { put: "/v1/things/{id}" body: "*" additional_bindings { get: "/v1/things/{id}/look" } };
        option (access) = { any_of: "configs.update" resource: "thing" action: "update" audited: true };
      }`,
      `message Part {
        string word = 1 [(rules) = { max_len: 5 }];
        optional int32 count = 2 [(rules) = { required: true min: 1 max: 10 }];
        optional string note = 3;
      }
      message UpdateThingRequest {
        string id = 1 [(rules) = { required: true }];
        optional string name = 2 [(rules) = { min_len: 2 max_len: 5 }, (alias) = "theName"];
        optional int32 size = 3;
        optional double price = 4 [(rules) = { min: 0 max: 1000 }];
        optional bool is_on = 5 [json_name = "isOn"];
        optional string status = 6 [(rules) = { in: "active archived" }];
        repeated string states = 7 [(rules) = { in: "active archived" unique: true max_items: 2 }];
        map<string, string> metadata = 8 [(rules) = { max_len: 3 max_items: 2 }];
        google.protobuf.Timestamp at = 9;
        google.protobuf.Struct settings = 10 [(rules) = { max_len: 100000 }];
        google.protobuf.Value anything = 11;
        google.protobuf.Value config = 12 [(rules) = { json: true max_len: 20000 }];
        Part part = 13;
        repeated Part parts = 14;
        map<string, Part> named_parts = 15;
        optional bytes raw = 16 [(rules) = { max_len: 4 }];
        optional string email = 17 [(rules) = { email: true }];
        optional string address = 18 [(rules) = { uri: true }];
        optional string kind = 19 [(rules) = { immutable: true }];
        optional string code = 20 [(rules) = { pattern: "^[a-z]+$" }];
        optional string workspace_id = 21 [(alias) = "workspaceId"];
        repeated int32 numbers = 22;
        repeated int32 amounts = 23 [(rules) = { min_items: 1 max_items: 1 clearable: true }];
        google.protobuf.FieldMask update_mask = 100;
        optional string etag = 101;
        optional string request_id = 102 [(rules) = { max_len: 255 }];
      }
      message Thing { string id = 1; optional string name = 2; repeated Part parts = 3; map<string, string> metadata = 4;
        google.protobuf.Timestamp at = 5; google.protobuf.Struct settings = 6; bool is_on = 7 [json_name = "isOn"];
        optional bytes raw = 8; Part part = 9; int32 size = 10; google.protobuf.Value anything = 11; }`,
    ),
  );
  return tree.methods.get('Things.UpdateThing')!;
}
