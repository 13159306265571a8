import type { Principal } from '../../src/common/access/principal.js';
import type { Directory } from '../../src/common/core/directory.js';

/** Stored providers that are remembered for one key. */
const maxSlugs = 32;

/** A key whose requests no limit or budget concerns, by providers and policies of these versions. */
interface Exemption {
  readonly providersVersion: number;
  readonly policiesVersion: number;
  /** Slugs of stored providers without limits and budgets. */
  readonly slugs: Set<string>;
}

/**
 * Keys that have no limit or budget, nor has their workspace, so that their requests look nothing up. A changed key is
 * another object; a changed provider or policy ends all exemptions.
 */
export class ExemptKeys {
  readonly #exempt = new WeakMap<Principal, Exemption>();

  constructor(readonly directory: Pick<Directory, 'providersVersion' | 'policiesVersion'>) {}

  /** `slug`: of the stored provider that is called; null: none is called yet, or one that is not stored. */
  has(principal: Principal, slug: string | null): boolean {
    const found = this.#exempt.get(principal);
    const { providersVersion, policiesVersion } = this.directory;
    return (
      found !== undefined &&
      found.providersVersion === providersVersion &&
      found.policiesVersion === policiesVersion &&
      (slug === null || found.slugs.has(slug))
    );
  }

  add(principal: Principal, slug: string | null): void {
    if (!this.has(principal, null)) {
      const { providersVersion, policiesVersion } = this.directory;
      this.#exempt.set(principal, { providersVersion, policiesVersion, slugs: new Set() });
    }
    const { slugs } = this.#exempt.get(principal)!;
    if (slug !== null && slugs.size < maxSlugs) slugs.add(slug);
  }
}
