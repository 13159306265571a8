import type { Metric } from '../../../../common/plugin-host/metrics.js';
import type { PluginScope } from '../plugin-scope.js';

const counts = new Map<string, number>();

/** A hook has held the event loop for too long. */
export function countBlocked({ plugin, hook }: PluginScope): void {
  const key = `${plugin} ${hook}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export const blockedHooks = (): Metric[] =>
  [...counts].map(([key, value]) => {
    const [plugin = '', hook = ''] = key.split(' ');
    return { name: 'gateway_plugin_blocked_total', labels: { plugin, hook }, value };
  });
