import type { KeyType } from '../../../common/access/principal.js';
import { isScope, mayHold } from '../../../common/access/scopes.js';
import { AdminError } from '../admin-error.js';
import type { Caller } from './caller.js';

/**
 * The scopes that a key is given: such as there are, that its type may hold, and that the caller could grant. `has`:
 * what it holds already, and keeps.
 */
export function scopesOf(
  caller: Caller,
  type: KeyType,
  asked: readonly string[],
  has: readonly string[] = [],
): string[] {
  for (const scope of asked) {
    if (!isScope(scope))
      throw AdminError.field(
        'scopes',
        `names ${JSON.stringify(scope).slice(0, 80)}: there is no such scope.`,
      );
    if (!mayHold(type, scope))
      throw AdminError.field('scopes', `names ${scope}, which a key of type ${type} cannot hold.`);
    if (!has.includes(scope) && !caller.mayGrant(scope, type))
      throw new AdminError('AB03', `scopes: this key lacks ${scope} and cannot grant it.`);
  }
  return [...new Set(asked)];
}
