import type { MappedValues } from '../../control-plane/secret-references/mapped-values.js';
import { Lookups } from '../../control-plane/store/known/lookups.js';
import type { Store } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import { type OptionSecret, OptionSecrets } from '../workers/plugins/option-secrets.js';
import { type ApplyPlugins, PluginKeeper } from '../workers/plugins/plugin-keeper.js';
import { workerInit } from '../workers/worker-init.js';
import type { Administration } from './administration.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { DeploymentGiven } from './deployment.js';
import type { PricesGiven } from './prices.js';
import type { SecretReferencesGiven } from './secret-references.js';
import type { Records } from './store.js';
import type { TokensGiven } from './tokens.js';
import type { WorkerProcesses } from './worker-processes.js';

/** A worker that has not ended after its requests is killed two seconds later. Milliseconds. */
const afterDrainMs = 4000;

/** Slugs of a workspace that an unknown one is compared with. */
const mostSlugs = 200;

/** Makes the data workers serve: from here on there are requests. */
export const workersPart: ProcessPart<
  Base &
    DataDirectory &
    Records &
    DeploymentGiven &
    SecretReferencesGiven &
    WorkerProcesses &
    Administration &
    TokensGiven &
    PricesGiven,
  { readonly port: number; readonly plugins: PluginKeeper }
> = {
  name: 'data workers',
  stopMs: ({ settings }) => settings.drainTimeoutMs + afterDrainMs,
  async start({
    settings,
    reread,
    log,
    journalDir,
    nodeId,
    deployment,
    store,
    known,
    workers,
    tokens,
    admin,
    prices,
    mappedValues,
  }) {
    const pepper = store.pepper.toString('hex');
    const node = { journalDir, nodeId, deployment: deployment?.id ?? null };
    const lookups = new Lookups(store, known);
    const secrets = new OptionSecrets((slug, key) => optionSecret(store, mappedValues, slug, key));
    const plugins = await PluginKeeper.open(await secrets.fill(settings.plugins), log);
    const port = await workers.serve({
      init: (worker) =>
        workerInit(settings, worker, workers.options.count, node, pepper, plugins.current, prices),
      lookup: async (kind, workspace, name) =>
        kind === 'token'
          ? tokens.find(name)
          : kind === 'slugs'
            ? store.providers.usableSlugs(workspace ?? '', mostSlugs)
            : mappedValues.fill(kind, workspace, name, await lookups.find(kind, workspace, name)),
      admin(request) {
        // Workers of such a node answer these paths themselves.
        if (admin === null) throw new Error('This node has no administration plane.');
        return admin.rest(request);
      },
    });
    const apply: ApplyPlugins = (insert, mayEnd) => workers.plugins.change(insert, mayEnd);
    workers.plugins.onStall(({ hooks }) => plugins.stalled(hooks, apply));
    // Without plugins, and without a file that could name some, nothing can change.
    if (settings.plugins.insert.length > 0 || reread !== null)
      plugins.watch(apply, () => secrets.fill(reread?.().plugins ?? settings.plugins));
    return { port, plugins };
  },
  async stop({ settings, workers, plugins }) {
    await plugins.stop();
    await workers.stop(settings.drainTimeoutMs);
  },
};

/** No worker has a record of these: the keeper of plugins asks for their values itself. */
const ofOptions = { kind: 'provider', workspace: null, name: 'options of plugins' } as const;

async function optionSecret(
  store: Store,
  values: MappedValues,
  named: string,
  secretKey: string | null,
): Promise<OptionSecret> {
  const place = await store.first();
  const reference = place === null ? null : await store.secretReferences.record(place.organisationId, named);
  const found = await values.text({ field: '', named, secretKey, isJson: false, reference }, ofOptions);
  return typeof found === 'string' ? { text: found } : { failure: found.message };
}
