import type { InsertedPlugin, InsertedPlugins } from '../../../../common/plugin-host/files/inserted.js';
import { passRequest } from '../../answer/texts/whole-texts.js';
import { type Chain, composeChain } from '../../chain.js';
import type { StageName } from '../../order.js';
import { arrange, type Stage } from '../plugins.js';
import { CustomInstance, type InstanceParts } from './custom-instance.js';
import { allChecks } from './plugin-checks.js';
import { allProviders } from './provider-rows.js';

/** Milliseconds after which a replaced plugin is closed even if requests still run through it. */
const closeAfterMs = 600_000;

type Instances = ReadonlyMap<string, CustomInstance>;

/**
 * The chain of stages, whose custom plugins can be replaced while requests run. A request keeps the chain that it began
 * with; a plugin that is replaced is closed when the last of those has ended.
 */
export class LiveChain {
  #instances: Instances = new Map();
  /** Set up, and waiting for all other workers. */
  #next: Instances | null = null;
  /** Replaced, and with exchanges that still run through them. */
  readonly #left = new Map<Chain, Instances>();
  #chain: Chain;
  #closed = false;

  constructor(
    readonly builtIn: ReadonlyMap<StageName, Stage>,
    readonly parts: InstanceParts,
  ) {
    this.#chain = this.#compose(new Map());
  }

  /** That of new exchanges. */
  get chain(): Chain {
    return this.#chain;
  }

  /** Sets up what the present chain does not have, and changes nothing yet. Rejects with the reason of the first that fails. */
  async prepare({ insert }: Pick<InsertedPlugins, 'insert'>): Promise<void> {
    await this.drop();
    const next = new Map<string, CustomInstance>();
    try {
      for (const entry of insert) {
        const key = keyOf(entry, next);
        next.set(key, this.#instances.get(key) ?? (await CustomInstance.of(entry, this.parts)));
      }
      allProviders(next.values(), this.parts.extensions);
    } catch (error) {
      await this.#closeAll(next);
      throw error;
    }
    this.#next = next;
  }

  /** New exchanges run through what was prepared. */
  commit(): void {
    const next = this.#next;
    if (next === null) return;
    const before = { chain: this.#chain, instances: this.#instances };
    for (const [key, instance] of before.instances) if (!next.has(key)) instance.hide();
    for (const [key, instance] of next) if (!before.instances.has(key)) instance.show();
    this.#next = null;
    this.#instances = next;
    for (const instance of next.values()) instance.chains++;
    this.#chain = this.#compose(next);
    const { extensions } = this.parts;
    extensions.replace(allProviders(next.values(), extensions), allChecks(next.values()));
    this.#leave(before.chain, before.instances);
  }

  /** Closes what was prepared and is not wanted. */
  async drop(): Promise<void> {
    const next = this.#next;
    this.#next = null;
    if (next !== null) await this.#closeAll(next);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.drop();
    for (const [chain, instances] of [...this.#left]) await this.#over(chain, instances);
    await this.#chain.close();
  }

  #compose(instances: Instances): Chain {
    const stages = arrange(this.builtIn, [...instances.values()]);
    return composeChain(
      stages.map(({ hooks }) => hooks),
      stages.findIndex(({ name }) => name === 'body'),
      passRequest,
    );
  }

  /** Those that are part of no chain yet. */
  async #closeAll(instances: Instances): Promise<void> {
    for (const instance of instances.values()) if (instance.chains === 0) await instance.close();
  }

  #leave(chain: Chain, instances: Instances): void {
    this.#left.set(chain, instances);
    const over = (): void => void this.#over(chain, instances);
    const late = setTimeout(over, closeAfterMs);
    late.unref();
    chain.onIdle = () => {
      clearTimeout(late);
      // The last exchange may be in the middle of its `log` phase.
      setImmediate(over);
    };
    if (chain.running === 0) chain.onIdle();
  }

  async #over(chain: Chain, instances: Instances): Promise<void> {
    if (!this.#left.delete(chain)) return;
    chain.onIdle = null;
    for (const instance of instances.values())
      if (--instance.chains === 0 && !(this.#closed && this.#uses(instance))) await instance.close();
  }

  /** Is it closed with the present chain? */
  #uses(instance: CustomInstance): boolean {
    return [...this.#instances.values()].includes(instance);
  }
}

/** The same for entries that one instance can serve. `before`: the keys of the entries before it. */
function keyOf({ pack, ...entry }: InsertedPlugin, before: Instances): string {
  const key = JSON.stringify([entry, pack?.hash ?? null]);
  let twin = 0;
  while (before.has(`${key}${twin}`)) twin++;
  return `${key}${twin}`;
}
