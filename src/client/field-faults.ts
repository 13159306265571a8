import protobuf from 'protobufjs';

/** A field of a request that is at fault. */
export interface FieldFault {
  readonly path: string;
  readonly problem: string;
}

type Fields = ReadonlyMap<number, readonly Uint8Array[]>;

/** The length-delimited fields of a message, by their numbers. */
function fieldsOf(bytes: Uint8Array): Fields {
  const reader = protobuf.Reader.create(bytes);
  const fields = new Map<number, Uint8Array[]>();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if ((tag & 7) === 2) fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), reader.bytes()]);
    else reader.skipType(tag & 7);
  }
  return fields;
}

const text = (fields: Fields, number: number): string =>
  Buffer.from(fields.get(number)?.[0] ?? []).toString('utf8');

/** The faults of a `google.rpc.Status` that has a `google.rpc.BadRequest` among its details; none where it has none. */
export function faultsOf(status: string | Uint8Array | undefined): FieldFault[] {
  if (!(status instanceof Uint8Array)) return [];
  try {
    const details = (fieldsOf(status).get(3) ?? []).map(fieldsOf);
    const bad = details.filter((any) => text(any, 1).endsWith('/google.rpc.BadRequest'));
    return bad
      .flatMap((any) => fieldsOf(any.get(2)?.[0] ?? new Uint8Array()).get(1) ?? [])
      .map(fieldsOf)
      .map((violation) => ({ path: text(violation, 1), problem: text(violation, 2) }));
  } catch {
    return [];
  }
}
