import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Exchange } from '../core/exchange.js';
import type { Principal } from '../core/principal.js';
import { bodyDigest } from '../core/slots.js';
import type { ReadBody } from '../endpoints/read-body.js';

/** A longer body costs more to keep, parsed, than its reading is worth. */
const maxBodyBytes = 64 * 1024;
/** Of bodies and what they were parsed to, by estimate. */
const maxBytes = 16 * 1024 * 1024;
const parsedFactor = 4;
const entryOverhead = 1024;

/**
 * Bodies that come again and again, as they were read the first time: parsing is a fifth of what an answer out of the
 * cache costs. Looked up for callers alone who have had such an answer; for all others this costs one look into a set.
 */
export class RecurringBodies {
  readonly #callers = new WeakSet<Principal>();
  readonly #read = new LRUCache<string, ReadBody>({
    max: Math.ceil(maxBytes / entryOverhead),
    maxSize: maxBytes,
  });

  /** What this body says, to the byte the same as one that was kept; null: it has to be read. */
  find(x: Exchange): ReadBody | null {
    const { bytes } = x.request;
    if (bytes === null || bytes.length > maxBodyBytes || !this.#callers.has(x.principal)) return null;
    const digest = hash('sha256', bytes, 'base64url');
    x.set(bodyDigest, digest);
    return this.#read.get(nameOf(x, digest)) ?? null;
  }

  /** The call's body may well come again. */
  keep(x: Exchange): void {
    const { bytes, json } = x.request;
    if (bytes === null || json === null || bytes.length > maxBodyBytes) return;
    this.#callers.add(x.principal);
    const name = nameOf(x, x.get(bodyDigest) ?? hash('sha256', bytes, 'base64url'));
    if (this.#read.has(name)) return;
    const body: ReadBody = { json, model: x.modelAsked, stream: x.streaming };
    this.#read.set(name, body, { size: bytes.length * parsedFactor + entryOverhead });
  }
}

const nameOf = ({ principal, endpoint }: Exchange, digest: string): string =>
  `${principal.organisationId}\n${endpoint.name}\n${digest}`;
