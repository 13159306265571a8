import type { Exchange } from '../../../../common/core/exchange.js';
import type { InsertScope } from '../../../../common/plugin-host/files/inserted.js';

/** Does a plugin of that scope run for an exchange? null: for every one. */
export function scopeTest(name: string, scope: InsertScope = 'all'): ((x: Exchange) => boolean) | null {
  if (scope === 'all') return null;
  // Of a request that was refused early, neither is known.
  if (scope === 'config')
    return (x) => (x.config as typeof x.config | undefined)?.plugins?.includes(name) === true;
  const organisations = new Set(scope.organisations);
  const workspaces = new Set(scope.workspaces);
  return (x) => {
    const principal = x.principal as typeof x.principal | undefined;
    if (principal === undefined) return false;
    const { organisationId, workspaceId } = principal;
    return organisations.has(organisationId) || (workspaceId !== null && workspaces.has(workspaceId));
  };
}
