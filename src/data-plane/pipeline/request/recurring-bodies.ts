import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../../../common/access/principal.js';
import type { Exchange } from '../../../common/core/exchange.js';
import { scanJson } from '../../../common/json/json-scan.js';
import { bodyDigest } from '../../../common/plugin-host/slots.js';
import type { ReadBody } from '../../endpoints/read-body.js';

/** Keeping a longer body in parsed form costs more than parsing it again. */
const maxBodyBytes = 64 * 1024;
/** Estimated heap of all kept bodies and their parsed form. */
const maxBytes = 16 * 1024 * 1024;
/** Heap bytes of a value, a list or an object at most, beside its text. */
const tokenBytes = 48;
/** Bytes, including the name that the cache keeps for a body. */
const entryOverhead = 4096;

/** A body and its parsed form. */
interface Kept {
  readonly bytes: Buffer;
  readonly digest: string;
  readonly organisation: string;
  readonly endpoint: Exchange['endpoint'];
  readonly body: ReadBody;
}

/**
 * Bodies that recur, with their parsed form: parsing is a fifth of the cost of a cached
 * answer. Only callers that have had such an answer have an entry; for all others this costs one look-up in a map.
 */
export class RecurringBodies {
  /** Each caller has a number, which makes its keys differ from those of others. Of others nothing is kept. */
  readonly callers = new WeakMap<Principal, number>();
  #known = 0;
  /** By checksum: of two bodies with the same one the later is kept. */
  readonly #kept = new LRUCache<number, Kept>({
    maxSize: maxBytes,
  });

  /** The parsed content of a kept body with the same bytes; null: none, the body has to be read. */
  find(x: Exchange): ReadBody | null {
    const { bytes } = x.request;
    const caller = this.callers.get(x.principal);
    if (caller === undefined || bytes === null || bytes.length > maxBodyBytes) return null;
    const kept = this.#kept.get(placeOf(bytes, caller));
    if (kept === undefined || !isOf(kept, x) || !kept.bytes.equals(bytes)) return null;
    x.set(bodyDigest, kept.digest);
    return kept.body;
  }

  /** Keeps the call's body, which is likely to recur. */
  keep(x: Exchange): void {
    const { bytes, json } = x.request;
    if (bytes === null || json === null || bytes.length > maxBodyBytes || x.get(bodyDigest) !== null) return;
    const tokens = x.bodyTokens ?? scanJson(bytes).tokens;
    let caller = this.callers.get(x.principal);
    if (caller === undefined) {
      caller = ++this.#known;
      this.callers.set(x.principal, caller);
    }
    // A copy: a slice of the socket's buffer would keep all of that alive.
    const own = Buffer.allocUnsafeSlow(bytes.length);
    own.set(bytes);
    const kept: Kept = {
      bytes: own,
      digest: hash('sha256', own, 'base64url'),
      organisation: x.principal.organisationId,
      endpoint: x.endpoint,
      body: { json, tokens, model: x.modelAsked, stream: x.streaming },
    };
    this.#kept.set(placeOf(own, caller), kept, {
      size: 2 * own.length + tokenBytes * tokens + entryOverhead,
    });
  }
}

const isOf = (kept: Kept, { principal, endpoint }: Exchange): boolean =>
  kept.organisation === principal.organisationId && kept.endpoint === endpoint;

/** Equal keys are not enough: all bytes are then compared. */
const placeOf = (bytes: Buffer, caller: number): number => crc32(bytes, caller);
