import type { Principal } from '../../common/access/principal.js';
import { Secret } from '../../common/access/secret.js';
import { retainedBytes } from '../../common/bytes/retained-bytes.js';
import type {
  Awaitable,
  DeploymentRules,
  Directory,
  PartnerCredentials,
  Policies,
  Sender,
  StoredProvider,
} from '../../common/core/directory.js';
import { GatewayError } from '../../common/core/errors.js';
import type { GuardrailRules } from '../../common/core/guardrail.js';
import type { ResolvedConfig } from '../../common/core/target.js';
import { withDefaults } from '../../common/guardrails/guardrail-defaults.js';
import type { Forget } from '../../common/ipc/messages.js';
import type {
  ConfigRecord,
  DeploymentRecord,
  GuardrailRecord,
  KeyRecord,
  PartnerRecord,
  PoliciesRecord,
  ProviderRecord,
} from '../../common/ipc/records.js';
import { ProviderPrices } from '../../common/prices/provider-prices.js';
import type { LookupChannel } from './channel.js';
import { KeyDirectory } from './keys.js';
import { Remembered } from './remembered.js';

export interface DirectoryOptions {
  readonly channel: LookupChannel;
  /** Compiles a stored config's text, once per version. */
  readonly compile: (record: ConfigRecord) => ResolvedConfig;
  /** Id of the deployment that this node reports as; null, the default: none. */
  readonly deployment?: string | null;
  /** Bytes of heap that each kind may keep. Default 32 MB for keys, 64 for configs, 8 for partners, 32 for each of the others. */
  readonly maxBytes?: {
    readonly keys: number;
    readonly configs: number;
    readonly providers: number;
    readonly policies?: number;
    readonly guardrails?: number;
    readonly partners?: number;
  };
}

/** Of a workspace that has none: kept like others, so that it is not asked for again and again. */
const noPolicies: Policies = Object.freeze({ rates: Object.freeze([]), budgets: Object.freeze([]) });

/** Milliseconds: the control process may have to fetch a secret first. */
const secretsWithinMs = 10_000;

/** Milliseconds: a refusal waits for a suggestion. */
const slugsWithinMs = 1000;

/** The name that means all of a kind. */
const everything = '*';

const maxJoined = 10_000;
/** Characters. No slug or id is longer; longer names from callers must not be kept. */
const longestName = 255;

const megabyte = 1024 * 1024;
const defaultMaxBytes = {
  keys: 32 * megabyte,
  configs: 64 * megabyte,
  providers: 32 * megabyte,
  policies: 32 * megabyte,
  guardrails: 32 * megabyte,
  partners: 8 * megabyte,
};

/**
 * Names within workspaces, each joined once: a new text has to be joined and hashed before it can
 * be looked up, and each target of a request needs a look-up.
 */
class Names {
  readonly #joined = new Map<string, Map<string, string>>();
  #count = 0;

  /** Ids and slugs have no newline, so it separates workspace and name unambiguously. */
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

/** Keys, configs and providers in this data worker: looked up when first needed, kept until a `forget` message. */
export class WorkerDirectory implements Directory {
  providersVersion = 0;
  policiesVersion = 0;
  readonly #keys: KeyDirectory;
  readonly #configs: Remembered<ResolvedConfig>;
  readonly #providers: Remembered<StoredProvider>;
  readonly #slugs: Remembered<readonly string[]>;
  readonly #policies: Remembered<Policies>;
  readonly #guardrails: Remembered<GuardrailRules>;
  readonly #partners: Remembered<PartnerCredentials>;
  readonly #deployments: Remembered<DeploymentRules>;
  readonly #names = new Names();
  readonly deployment: Directory['deployment'];

  constructor(options: DirectoryOptions) {
    const { channel, maxBytes = defaultMaxBytes } = options;
    const ask = async <T>(question: Promise<T>): Promise<T> => {
      try {
        return await question;
      } catch (cause) {
        throw new GatewayError(
          'store_unavailable',
          'The gateway cannot look this up right now: try again shortly.',
          { cause, retryAfterMs: 1000 },
        );
      }
    };
    this.#keys = new KeyDirectory(
      { entries: 50_000, bytes: maxBytes.keys, bytesOf: retainedBytes },
      async (hash, token) => {
        if (token === null) {
          const record = await ask(channel.ask('key', null, hash));
          return record === null ? null : toPrincipal(record);
        }
        const record = await ask(channel.ask('token', null, token));
        if (record === null) return null;
        // Not kept, unlike the absence of a key: its key may be in the set soon, or its workspace made.
        if ('refused' in record) throw new GatewayError(record.refused, record.message);
        return toPrincipal(record);
      },
    );
    const configs = {
      entries: 5_000,
      bytes: maxBytes.configs,
      bytesOf: ({ bytes }: ResolvedConfig) => bytes,
    };
    this.#configs = new Remembered(configs, async (key) => {
      const [workspace = '', name = ''] = key.split('\n');
      const record = await ask(channel.ask('config', workspace, name));
      return record === null ? null : options.compile(record);
    });
    this.#providers = new Remembered<StoredProvider>(
      {
        entries: 5_000,
        bytes: maxBytes.providers,
        bytesOf: (provider) => retainedBytes(provider) + (provider.prices?.keptBytes ?? 0),
      },
      async (key) => {
        const [workspace = '', name = ''] = key.split('\n');
        const record = await ask(channel.ask('provider', workspace, name, secretsWithinMs));
        return record === null ? null : toStoredProvider(record);
      },
    );
    this.#slugs = new Remembered<readonly string[]>(
      { entries: 1_000, bytes: 4 * megabyte, bytesOf: retainedBytes },
      (workspace) => channel.ask('slugs', workspace, everything, slugsWithinMs).catch(() => null),
    );
    this.#policies = new Remembered<Policies>(
      { entries: 5_000, bytes: maxBytes.policies ?? defaultMaxBytes.policies, bytesOf: retainedBytes },
      async (workspace) => toPolicies(await ask(channel.ask('policies', workspace, everything))),
    );
    this.#guardrails = new Remembered<GuardrailRules>(
      { entries: 5_000, bytes: maxBytes.guardrails ?? defaultMaxBytes.guardrails, bytesOf: retainedBytes },
      async (key) => {
        const [scope = '', name = ''] = key.split('\n');
        const record = await ask(channel.ask('guardrail', scope, name));
        return record === null ? null : toGuardrail(record);
      },
    );
    this.#partners = new Remembered<PartnerCredentials>(
      { entries: 5_000, bytes: maxBytes.partners ?? defaultMaxBytes.partners, bytesOf: retainedBytes },
      async (key) => {
        const [scope = '', name = ''] = key.split('\n');
        const record = await ask(channel.ask('partner', scope, name, secretsWithinMs));
        return record === null ? null : toPartner(record);
      },
    );
    this.#deployments = new Remembered<DeploymentRules>(
      { entries: 1, bytes: megabyte, bytesOf: ({ workspaces }) => 100 * (workspaces?.size ?? 0) },
      async (id) => toRules(await ask(channel.ask('deployment', null, id))),
    );
    const { deployment = null } = options;
    this.deployment =
      deployment === null ? null : () => this.#deployments.get(deployment) as Awaitable<DeploymentRules>;
  }

  key(hash: string, sender?: Sender, text?: string): Awaitable<Principal | null> {
    return this.#keys.remembered.known(hash) ?? this.#keys.get(hash, sender, text);
  }

  /** The hash under which a key was found; null: it was not found here. */
  hashOf(principal: Principal): string | null {
    return this.#keys.hashOf(principal);
  }

  config(workspaceId: string, slugOrId: string): Awaitable<ResolvedConfig | null> {
    if (slugOrId.length > longestName) return null;
    return this.#configs.get(this.#names.within(workspaceId, slugOrId));
  }

  provider(workspaceId: string, slug: string): Awaitable<StoredProvider | null> {
    if (slug.length > longestName) return null;
    return this.#providers.get(this.#names.within(workspaceId, slug));
  }

  slugs(workspaceId: string): Awaitable<readonly string[] | null> {
    return this.#slugs.get(workspaceId);
  }

  policies(workspaceId: string): Awaitable<Policies | null> {
    return this.#policies.get(workspaceId);
  }

  guardrail(scope: string, idOrSlug: string): Awaitable<GuardrailRules | null> {
    if (idOrSlug.length > longestName) return null;
    return this.#guardrails.get(this.#names.within(scope, idOrSlug));
  }

  partner(scope: string, partner: string): Awaitable<PartnerCredentials | null> {
    return this.#partners.get(this.#names.within(scope, partner));
  }

  forget(what: readonly Forget[]): void {
    for (const one of what) {
      const { kind, workspace, name } = one;
      if (kind === 'key') {
        if (name === everything) this.#keys.forgetAll(one);
        else this.#keys.forget(name);
        continue;
      }
      if (kind === 'policies') {
        this.policiesVersion += 1;
        if (workspace === null) this.#policies.clear();
        else this.#policies.forget(workspace);
        continue;
      }
      if (kind === 'guardrail') {
        // A workspace's may be remembered by its id or its slug.
        this.#guardrails.clear();
        continue;
      }
      if (kind === 'partner') {
        this.#partners.clear();
        continue;
      }
      if (kind === 'deployment') {
        if (name === everything) this.#deployments.clear();
        else this.#deployments.forget(name);
        continue;
      }
      if (kind === 'provider') {
        this.providersVersion += 1;
        this.#slugs.clear();
      }
      const kept = kind === 'config' ? this.#configs : this.#providers;
      if (name === everything) kept.clear();
      else kept.forget(this.#names.within(workspace ?? '', name));
    }
  }
}

/** A deployment without a record serves no tenant. */
function toRules(record: DeploymentRecord | null): DeploymentRules {
  const { organisationId = '', disabled = true, workspaces = null } = record ?? {};
  return Object.freeze({
    organisationId,
    disabled,
    workspaces: workspaces === null ? null : new Set(workspaces),
  });
}

const toPolicies = (record: PoliciesRecord | null): Policies =>
  record === null ? noPolicies : Object.freeze({ rates: record.rates, budgets: record.budgets ?? [] });

function toPrincipal(record: KeyRecord): Principal {
  return Object.freeze({ ...record, defaults: Object.freeze({ ...record.defaults }) });
}

function toGuardrail({ slug, checks, ...actions }: GuardrailRecord): GuardrailRules {
  const rules = checks.map(({ id, parameters }) =>
    Object.freeze({ check: id, parameters: withDefaults(id, parameters) }),
  );
  return Object.freeze({ ...actions, id: slug, type: 'guardrail', rules: Object.freeze(rules) });
}

/** Throws where a credential is mapped to a secret without a value. */
function toPartner({ credentials, unresolved = [] }: PartnerRecord): PartnerCredentials {
  const [missing] = unresolved;
  if (missing !== undefined) throw new GatewayError(missing.code, `${missing.field} ${missing.message}`);
  return Object.freeze(
    Object.fromEntries(Object.entries(credentials).map(([name, text]) => [name, new Secret(text)])),
  );
}

function toStoredProvider(record: ProviderRecord): StoredProvider {
  const { secrets, prices, ...shown } = record;
  const sealed = Object.entries(secrets).map(([name, text]) => [name, new Secret(text)] as const);
  return Object.freeze({
    ...shown,
    fields: { ...shown.fields, ...Object.fromEntries(sealed) },
    credential: record.credential === null ? null : new Secret(record.credential),
    models:
      record.models === null
        ? null
        : { ...record.models, named: new Map(record.models.named.map((rule) => [rule.model, rule])) },
    ...(prices !== undefined && { prices: new ProviderPrices(record.provider, prices) }),
  });
}
