import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../../../common/access/principal.js';
import type { Exchange } from '../../../common/core/exchange.js';
import { scanJson } from '../../../common/json/json-scan.js';
import { bodyDigest } from '../../../common/plugin-host/slots.js';
import type { ReadBody } from '../../endpoints/read-body.js';

/** A longer body costs more to keep, parsed, than its reading is worth. */
const maxBodyBytes = 64 * 1024;
/** Of heap, of bodies and what they were parsed to: an estimate. */
const maxBytes = 16 * 1024 * 1024;
/** What a value, a list or an object takes at most, beside its text. */
const tokenBytes = 48;
/** With the name that the cache keeps for a body. */
const entryOverhead = 4096;

/** A body as it was read. */
interface Kept {
  readonly bytes: Buffer;
  readonly digest: string;
  readonly organisation: string;
  readonly endpoint: Exchange['endpoint'];
  readonly body: ReadBody;
}

/**
 * Bodies that come again and again, as they were read the first time: parsing is a fifth of what an answer out of the
 * cache costs. Looked up for callers alone who have had such an answer; for all others this costs one look into a map.
 */
export class RecurringBodies {
  /** Each with a number of its own, by which its bodies' places differ from another caller's. Of others nothing is kept. */
  readonly callers = new WeakMap<Principal, number>();
  #known = 0;
  /** By place: of two bodies with the same one the later is kept. */
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

  /** The call's body may well come again. */
  keep(x: Exchange): void {
    const { bytes, json } = x.request;
    if (bytes === null || json === null || bytes.length > maxBodyBytes || x.get(bodyDigest) !== null) return;
    let caller = this.callers.get(x.principal);
    if (caller === undefined) {
      caller = ++this.#known;
      this.callers.set(x.principal, caller);
    }
    // A copy of its own: a slice of what a socket gave would keep all of that alive.
    const own = Buffer.allocUnsafeSlow(bytes.length);
    own.set(bytes);
    const kept: Kept = {
      bytes: own,
      digest: hash('sha256', own, 'base64url'),
      organisation: x.principal.organisationId,
      endpoint: x.endpoint,
      body: { json, model: x.modelAsked, stream: x.streaming },
    };
    this.#kept.set(placeOf(own, caller), kept, {
      size: 2 * own.length + tokenBytes * scanJson(own).tokens + entryOverhead,
    });
  }
}

const isOf = (kept: Kept, { principal, endpoint }: Exchange): boolean =>
  kept.organisation === principal.organisationId && kept.endpoint === endpoint;

/** Whose place it is is then found by comparing all bytes. */
const placeOf = (bytes: Buffer, caller: number): number => crc32(bytes, caller);
