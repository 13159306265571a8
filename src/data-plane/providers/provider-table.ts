import { mayChangeAnswers } from './client-headers.js';
import type { ProviderDefinition } from './provider.js';
import { providers } from './rows.js';

/** The providers of a data worker: the gateway's own, and those of the plugins that serve. */
export class ProviderTable {
  readonly #rows = new Map(providers);
  readonly #sentOn = new Set(mayChangeAnswers(providers.values()));
  #own: ReadonlyMap<string, ProviderDefinition> = new Map();

  /** Always the same Map, with what there is now. */
  get rows(): ReadonlyMap<string, ProviderDefinition> {
    return this.#rows;
  }

  /** Client headers that some provider is sent as they came, and that may change what it answers; lower case. */
  get sentOnHeaders(): ReadonlySet<string> {
    return this.#sentOn;
  }

  /** Names of those of plugins. */
  get pluginNames(): string[] {
    return [...this.#own.keys()];
  }

  /** From now on the plugins have these. */
  replace(own: ReadonlyMap<string, ProviderDefinition>): void {
    for (const name of this.#own.keys()) if (!own.has(name)) this.#rows.delete(name);
    for (const [name, row] of own) this.#rows.set(name, row);
    this.#own = own;
    this.#sentOn.clear();
    for (const name of mayChangeAnswers(this.#rows.values())) this.#sentOn.add(name);
  }
}
