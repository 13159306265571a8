import type { Awaitable, Directory, StoredProvider } from '../core/directory.js';
import { GatewayError } from '../core/errors.js';
import type { ConfigRecord, Forget, KeyRecord, ProviderRecord } from '../core/messages.js';
import type { Principal } from '../core/principal.js';
import { Secret } from '../core/secret.js';
import type { ResolvedConfig } from '../core/target.js';
import type { LookupChannel } from './channel.js';
import { Remembered } from './remembered.js';

export interface DirectoryOptions {
  readonly channel: LookupChannel;
  /** Compiles a stored config's text, once per version. */
  readonly compile: (record: ConfigRecord) => ResolvedConfig;
  readonly maxKeys?: number;
  readonly maxConfigs?: number;
  readonly maxProviders?: number;
}

/** The name that stands for all of a kind. */
const everything = '*';

const maxJoined = 10_000;

/**
 * Names within workspaces, each joined once: a text that is made anew has to be copied together and hashed before it can
 * be looked up, and there is one to be looked up for each target of a request.
 */
class Names {
  readonly #joined = new Map<string, Map<string, string>>();
  #count = 0;

  /** Ids and slugs have no newline, so it parts a workspace from a name without ambiguity. */
  within(workspace: string, name: string): string {
    let joined = this.#joined.get(workspace)?.get(name);
    if (joined === undefined) {
      joined = `${workspace}\n${name}`;
      this.#keep(workspace, name, joined);
    }
    return joined;
  }

  #keep(workspace: string, name: string, joined: string): void {
    if (this.#count >= maxJoined) {
      this.#joined.clear();
      this.#count = 0;
    }
    const names = this.#joined.get(workspace) ?? new Map<string, string>();
    this.#joined.set(workspace, names.set(name, joined));
    this.#count++;
  }
}

/** What this data worker knows, asked for when first needed and kept until told to forget. */
export class WorkerDirectory implements Directory {
  readonly #keys: Remembered<Principal>;
  readonly #configs: Remembered<ResolvedConfig>;
  readonly #providers: Remembered<StoredProvider>;
  readonly #names = new Names();

  constructor(options: DirectoryOptions) {
    const { channel } = options;
    const ask = async <T>(question: Promise<T>): Promise<T> => {
      try {
        return await question;
      } catch (cause) {
        throw new GatewayError(
          'store_unavailable',
          'The gateway cannot look this up right now: try again shortly.',
          { cause },
        );
      }
    };
    this.#keys = new Remembered(options.maxKeys ?? 50_000, async (hash) => {
      const record = await ask(channel.ask('key', null, hash));
      return record === null ? null : toPrincipal(record);
    });
    this.#configs = new Remembered(options.maxConfigs ?? 5_000, async (key) => {
      const [workspace = '', name = ''] = key.split('\n');
      const record = await ask(channel.ask('config', workspace, name));
      return record === null ? null : options.compile(record);
    });
    this.#providers = new Remembered(options.maxProviders ?? 5_000, async (key) => {
      const [workspace = '', name = ''] = key.split('\n');
      const record = await ask(channel.ask('provider', workspace, name));
      return record === null ? null : toStoredProvider(record);
    });
  }

  key(hash: string): Awaitable<Principal | null> {
    return this.#keys.get(hash);
  }

  config(workspaceId: string, slugOrId: string): Awaitable<ResolvedConfig | null> {
    return this.#configs.get(this.#names.within(workspaceId, slugOrId));
  }

  provider(workspaceId: string, slug: string): Awaitable<StoredProvider | null> {
    return this.#providers.get(this.#names.within(workspaceId, slug));
  }

  forget(what: readonly Forget[]): void {
    for (const { kind, workspace, name } of what) {
      const kept = { key: this.#keys, config: this.#configs, provider: this.#providers }[kind];
      if (name === everything) kept.clear();
      else kept.forget(kind === 'key' ? name : this.#names.within(workspace ?? '', name));
    }
  }
}

function toPrincipal(record: KeyRecord): Principal {
  return Object.freeze({ ...record, defaults: Object.freeze({ ...record.defaults }) });
}

function toStoredProvider(record: ProviderRecord): StoredProvider {
  const { secrets, ...shown } = record;
  const sealed = Object.entries(secrets).map(([name, text]) => [name, new Secret(text)] as const);
  return Object.freeze({
    ...shown,
    fields: { ...shown.fields, ...Object.fromEntries(sealed) },
    credential: record.credential === null ? null : new Secret(record.credential),
    models:
      record.models === null
        ? null
        : { ...record.models, named: new Map(record.models.named.map((rule) => [rule.model, rule])) },
  });
}
