import { enterpriseSchema } from './attributes.js';

/** Which attributes an answer has: `attributes` and `excludedAttributes` of RFC 7644, section 3.9. */

type Json = Readonly<Record<string, unknown>>;

interface ShownRequest {
  readonly attributes?: string | null;
  readonly excluded_attributes?: string | null;
}

/** Attributes that every answer has. */
const always = new Set(['id', 'schemas']);
const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/;

/** Names in lower case: of attributes, and `attribute.part`. */
function namesOf(list: string | null | undefined): string[] {
  const extension = enterpriseSchema.toLowerCase();
  return (list ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim().replace(new RegExp(coreSchema, 'i'), ''))
    .map((name) => (name.startsWith(`${extension}:`) ? name.replace(`${extension}:`, `${extension}/`) : name))
    .filter((name) => name !== '');
}

export class Shown {
  readonly #only: readonly string[];
  readonly #without: readonly string[];

  constructor(request: ShownRequest) {
    this.#only = namesOf(request.attributes);
    this.#without = namesOf(request.excluded_attributes);
  }

  /** Is any of this attribute wanted? */
  wants(name: string): boolean {
    const key = name.toLowerCase();
    if (always.has(key)) return true;
    if (this.#without.includes(key)) return false;
    return this.#only.length === 0 || this.#only.some((one) => one === key || this.#isWithin(one, key));
  }

  of(resource: Json): Json {
    if (this.#only.length === 0 && this.#without.length === 0) return resource;
    const shown: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(resource))
      if (this.wants(name)) shown[name] = always.has(name) ? value : this.#partsOf(name.toLowerCase(), value);
    return shown;
  }

  #isWithin(one: string, name: string): boolean {
    return one.startsWith(`${name}.`) || one.startsWith(`${name}/`);
  }

  #partsOf(name: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#partsOf(name, item));
    if (typeof value !== 'object' || value === null) return value;
    const parts = this.#only
      .filter((one) => this.#isWithin(one, name))
      .map((one) => one.slice(name.length + 1));
    const isWhole = this.#only.length === 0 || this.#only.includes(name) || parts.length === 0;
    return Object.fromEntries(
      Object.entries(value).filter(([part]) => {
        const key = part.toLowerCase();
        const isOut = this.#without.includes(`${name}.${key}`) || this.#without.includes(`${name}/${key}`);
        return !isOut && (isWhole || parts.some((one) => one === key || one.startsWith(`${key}.`)));
      }),
    );
  }
}
