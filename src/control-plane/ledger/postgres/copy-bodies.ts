import type { Client } from 'pg';
import type { BodiesInBytes } from '../ledger.js';
import { copyInto } from './connections.js';
import { timeWithin } from './schema.js';

/** Bodies as tuples of COPY in its binary form, in which bytes are as they are. */

const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const header = Buffer.concat([signature, Buffer.alloc(8)]);
const trailer = Buffer.from([0xff, 0xff]);
const columns = ['id', 'at', 'org', 'workspace', 'cut', 'request', 'response', 'headers'] as const;
const isNull = Buffer.from([0xff, 0xff, 0xff, 0xff]);

export async function copyBodies(client: Client, bodies: readonly BodiesInBytes[]): Promise<void> {
  const pieces = [header];
  for (const body of bodies) addTuple(pieces, body);
  pieces.push(trailer);
  // One message for all: each costs a call of the socket.
  const together = Buffer.concat(pieces);
  await copyInto(client, `COPY exchange_bodies (${columns.join(', ')}) FROM STDIN (FORMAT binary)`, [
    together,
  ]);
}

function addTuple(
  pieces: Buffer[],
  { id, at, org, workspace, cut, request, response, headers }: BodiesInBytes,
): void {
  const texts = [Buffer.from(clean(id)), Buffer.from(clean(org))] as const;
  const place = workspace === null ? null : Buffer.from(clean(workspace));
  const head = Buffer.allocUnsafe(
    2 + 4 + texts[0].length + 12 + 4 + texts[1].length + 4 + (place?.length ?? 0) + 5,
  );
  let used = head.writeInt16BE(columns.length, 0);
  const add = (bytes: Buffer): void => {
    used = head.writeInt32BE(bytes.length, used);
    used += bytes.copy(head, used);
  };
  add(texts[0]);
  used = head.writeInt32BE(8, used);
  used = head.writeBigInt64BE(BigInt(timeWithin(at)), used);
  add(texts[1]);
  if (place === null) used += isNull.copy(head, used);
  else add(place);
  used = head.writeInt32BE(1, used);
  head[used] = cut ? 1 : 0;
  pieces.push(head);
  const named = headers === undefined ? null : Buffer.from(clean(JSON.stringify(headers)));
  for (const bytes of [request, response, named]) {
    if (bytes === null) {
      pieces.push(isNull);
      continue;
    }
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(bytes.length);
    pieces.push(length, bytes);
  }
}

/** PostgreSQL keeps no NUL in a text. */
const clean = (text: string): string => text.replaceAll('\0', '\ufffd');
