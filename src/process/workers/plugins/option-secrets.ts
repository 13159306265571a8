import type { InsertedPlugins } from '../../../common/plugin-host/files/inserted.js';

/** A value of a secret reference of the first organisation; or why there is none, to follow the place that needs it. */
export type OptionSecret = { readonly text: string } | { readonly failure: string };

/** `{ secret_reference: slug }`, where the options of a plugin in the settings have a text. */
interface Place {
  readonly secret_reference: string;
  readonly secret_key?: string;
}

const names: ReadonlySet<string> = new Set(['secret_reference', 'secret_key']);

/** Values are asked for again after this time: the plugins of the settings are looked at far more often. Milliseconds. */
const keptMs = 5000;

/** Puts values of secret references into the options of custom plugins. */
export class OptionSecrets {
  #filled: { readonly of: string; readonly at: number; readonly settings: InsertedPlugins } | null = null;

  constructor(readonly find: (reference: string, key: string | null) => Promise<OptionSecret>) {}

  /** Rejects with the plugin, the place in its options and the reference where a value is missing. */
  async fill(settings: InsertedPlugins): Promise<InsertedPlugins> {
    if (!settings.insert.some(({ options }) => hasPlace(options))) return settings;
    const of = JSON.stringify(settings);
    const now = performance.now();
    if (this.#filled?.of === of && now - this.#filled.at < keptMs) return this.#filled.settings;
    const insert = await Promise.all(
      settings.insert.map(async (one) =>
        hasPlace(one.options)
          ? { ...one, options: await this.#filledIn(one.options, `plugin ${one.name}: options`) }
          : one,
      ),
    );
    const filled = { ...settings, insert };
    this.#filled = { of, at: now, settings: filled };
    return filled;
  }

  async #filledIn(value: unknown, path: string): Promise<unknown> {
    if (isPlace(value)) {
      const found = await this.find(value.secret_reference, value.secret_key ?? null);
      if ('text' in found) return found.text;
      throw new Error(`${path} ${found.failure}`);
    }
    if (Array.isArray(value))
      return Promise.all(value.map((item, i) => this.#filledIn(item, `${path}[${i}]`)));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(
      async ([name, one]) => [name, await this.#filledIn(one, `${path}.${name}`)] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }
}

function isPlace(value: unknown): value is Place {
  if (typeof value !== 'object' || value === null || !('secret_reference' in value)) return false;
  return Object.entries(value).every(([name, text]) => names.has(name) && typeof text === 'string');
}

function hasPlace(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isPlace(value) || Object.values(value).some(hasPlace);
}
