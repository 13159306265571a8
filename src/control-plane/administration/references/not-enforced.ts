import type { Message } from '../../../../proto/codec.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import type { Caller } from '../access/caller.js';
import type { Inbound } from '../access/inbound.js';

const workspaceSettings = ['user_key_metadata', 'user_key_metadata_override'];

/** Settings that are stored and that nothing acts on yet, by the methods that set them (docs/limitations.md). */
const stored: Readonly<Record<string, readonly string[]>> = {
  'Workspaces.UpdateWorkspace': workspaceSettings.map((name) => `settings.${name}`),
};

/** Neither absent nor off. */
const isSet = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== 0;

function valueAt(request: Message, path: string): unknown {
  let value: unknown = request;
  for (const name of path.split('.')) value = (value as Message | null | undefined)?.[name];
  return value;
}

/** Logs which of the settings of a request have no effect yet. */
export function warnOfNotEnforced(log: Logger, { method }: Inbound, caller: Caller, request: Message): void {
  const paths = (stored[method.name] ?? []).filter((path) => isSet(valueAt(request, path)));
  if (paths.length === 0) return;
  log.warn(
    { organisation: caller.organisationId, method: method.name, settings: paths },
    `stored, but not enforced yet: ${paths.join(', ')}`,
  );
}
