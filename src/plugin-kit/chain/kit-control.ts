import { randomBytes } from 'node:crypto';
import { hashGatewayKey, makeGatewayKey } from '../../common/access/gateway-key.js';
import type { Principal } from '../../common/access/principal.js';
import type { FromWorker } from '../../common/ipc/messages.js';
import type { KeyRecord, ProviderRecord } from '../../common/ipc/records.js';
import type { NewsKind, SharedServer } from '../../common/ipc/shared.js';
import { serveStageState } from '../../control-plane/shared-state/stage-state.js';
import { LookupChannel } from '../../data-plane/directory/channel.js';
import { SharedChannel } from '../../data-plane/directory/shared-channel.js';

/** What the control process answers, for a chain that has none: keys, providers and shared state, all in memory. */
export class KitControl {
  readonly pepper = randomBytes(32);
  readonly #keys = new Map<string, KeyRecord>();
  readonly #texts = new Map<string, string>();
  readonly #questions = new Map<string, (question: never, worker: number) => unknown>();
  readonly #news = new Map<string, (news: never, worker: number) => void>();
  readonly channel: LookupChannel = new LookupChannel((message) => this.#lookUp(message));
  readonly shared: SharedChannel = new SharedChannel((message) => this.#onShared(message));

  constructor() {
    const server: SharedServer = {
      answer: (kind, answer) => void this.#questions.set(kind, answer as never),
      on: (kind, listener) => void this.#news.set(kind, listener as never),
      broadcast: (kind: NewsKind, news) => setImmediate(() => this.shared.received(kind, news as never)),
    };
    serveStageState(server, null);
    server.answer('breakers', () => []);
    server.answer('prices', () => null);
  }

  /** The key of a caller who differs from the usual one by this. */
  keyOf(different: Partial<Principal>): string {
    const named = JSON.stringify(different);
    const known = this.#texts.get(named);
    if (known !== undefined) return known;
    const text = makeGatewayKey('workspace-service');
    this.#texts.set(named, text);
    this.#keys.set(hashGatewayKey(this.pepper, text), { ...usual, ...(different as Partial<KeyRecord>) });
    return text;
  }

  #lookUp(message: FromWorker): void {
    if (message.t !== 'lookup') return;
    const { id, kind, name } = message;
    const found =
      kind === 'key' ? (this.#keys.get(name) ?? null) : kind === 'provider' ? providerOf(name) : null;
    setImmediate(() => this.channel.answered(id, found));
  }

  #onShared(message: FromWorker): void {
    if (message.t === 'shared-news') this.#news.get(message.kind)?.(message.news as never, 0);
    if (message.t !== 'shared-question') return;
    const { id, kind, question } = message;
    const answer = this.#questions.get(kind);
    setImmediate(async () => {
      try {
        if (answer === undefined) this.shared.failed(id);
        else this.shared.answered(id, await answer(question as never, 0));
      } catch {
        this.shared.failed(id);
      }
    });
  }
}

const usual: KeyRecord = {
  organisationId: 'org',
  workspaceId: 'ws',
  keyId: 'key',
  keyName: 'test',
  keyType: 'workspace-service',
  userId: null,
  scopes: ['completions.write'],
  expiresAt: null,
  blockInline: false,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
};

/** `@simulated` has OpenAI's format; `@anthropic`, `@google`, … are providers of that name. */
function providerOf(slug: string): ProviderRecord {
  return {
    id: slug,
    slug,
    workspaceId: 'ws',
    provider: slug === 'simulated' ? 'openai' : slug,
    integration: null,
    credential: 'sk-simulated',
    baseUrl: slug === 'simulated' ? 'http://simulated.test/v1' : null,
    hostTrusted: true,
    headers: [],
    fields: {},
    secrets: {},
    unresolved: [],
    expiresAt: null,
    models: null,
  };
}
