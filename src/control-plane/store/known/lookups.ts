import { GatewayError } from '../../../common/core/errors.js';
import type { LookupRecords, StoredKind } from '../../../common/ipc/messages.js';
import type { PoliciesRecord, ProviderRecord } from '../../../common/ipc/records.js';
import type { Store } from '../store.js';
import type { KnownRecords } from './known-records.js';

/** A request waits no longer for a record. Milliseconds. */
const answerMs = 700;

interface Asked<K extends StoredKind> {
  readonly kind: K;
  readonly workspace: string | null;
  readonly name: string;
}

/** In place of a base URL that is known at run time alone. */
const atRunTime = '';

/**
 * The records that data workers ask for, out of the store; where that does not answer in time, as they are known. What is
 * not known either is refused, and never taken for absent.
 */
export class Lookups {
  /** Has the store not answered in time, and nothing since? */
  #isLate = false;

  /** `known`: null for a store that does not go away. */
  constructor(
    readonly store: Store,
    readonly known: KnownRecords | null,
  ) {}

  find<K extends StoredKind>(
    kind: K,
    workspace: string | null,
    name: string,
  ): Promise<LookupRecords[K] | null> {
    const asked = { kind, workspace, name };
    return this.known === null ? this.#ask(asked) : this.#inTime(asked, this.known);
  }

  #ask<K extends StoredKind>({ kind, workspace, name }: Asked<K>): Promise<LookupRecords[K] | null> {
    return askStore(this.store, kind, workspace, name) as Promise<LookupRecords[K] | null>;
  }

  async #inTime<K extends StoredKind>(
    asked: Asked<K>,
    known: KnownRecords,
  ): Promise<LookupRecords[K] | null> {
    const question = known.ask(asked.kind, asked.workspace, asked.name);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, answerMs, 'late');
    });
    const found = this.#twice(asked).then(
      (record) => {
        this.#isLate = false;
        known.answered(question, record === null ? null : this.#kept(asked.kind, record));
        return { record };
      },
      (error) => {
        known.answered(question, undefined);
        throw error;
      },
    );
    try {
      // A request asks several times: it waits once.
      const isAnswered = this.#isLate && known.find(asked.kind, asked.workspace, asked.name) !== undefined;
      const first = isAnswered ? 'late' : await Promise.race([found, late]);
      if (first !== 'late') return first.record;
      // It is kept all the same when it comes.
      found.catch(() => {});
      this.#isLate = true;
      this.store.suspect();
      return this.#knownOf(asked, known, new Error('no answer in time'));
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') throw error;
      return this.#knownOf(asked, known, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Once more where a connection broke and the store is there. */
  async #twice<K extends StoredKind>(asked: Asked<K>): Promise<LookupRecords[K] | null> {
    try {
      return await this.#ask(asked);
    } catch (error) {
      if (this.store.state === 'away') throw error;
      return this.#ask(asked);
    }
  }

  #kept<K extends StoredKind>(kind: K, record: LookupRecords[K]): LookupRecords[K] {
    if (kind !== 'provider') return record;
    const { slug, baseUrl } = record as ProviderRecord;
    return baseUrl !== null && baseUrl === this.store.providers.runtimeBaseUrl(slug)
      ? { ...record, baseUrl: atRunTime }
      : record;
  }

  #knownOf<K extends StoredKind>(
    asked: Asked<K>,
    known: KnownRecords,
    cause: unknown,
  ): LookupRecords[K] | null {
    const record = known.find(asked.kind, asked.workspace, asked.name);
    if (record === undefined) {
      throw new GatewayError(
        'store_unavailable',
        'The store does not answer, and this is not known without it.',
        {
          cause,
          retryAfterMs: 1000,
        },
      );
    }
    if (asked.kind !== 'provider' || record === null) return record;
    const provider = record as ProviderRecord;
    if (provider.baseUrl !== atRunTime) return record;
    return { ...record, baseUrl: this.store.providers.runtimeBaseUrl(provider.slug) };
  }
}

async function policiesIn(store: Store, workspace: string): Promise<PoliciesRecord | null> {
  const [rates, budgets] = await Promise.all([
    store.rateLimitsPolicies.inForce(workspace),
    store.usageLimitsPolicies.inForce(workspace),
  ]);
  if (rates.length === 0 && budgets.length === 0) return null;
  return { rates, ...(budgets.length > 0 && { budgets }) };
}

async function askStore(
  store: Store,
  kind: StoredKind,
  workspace: string | null,
  name: string,
): Promise<LookupRecords[StoredKind] | null> {
  if (kind === 'key') return store.keys.findByHash(name);
  if (kind === 'deployment') return store.deployments.rules(name);
  if (workspace === null) return null;
  if (kind === 'policies') return policiesIn(store, workspace);
  if (kind === 'guardrail') return store.guardrails.find(workspace, name);
  if (kind === 'partner') return store.partnerPlugins.find(workspace, name);
  return kind === 'config' ? store.configs.find(workspace, name) : store.providers.find(workspace, name);
}
