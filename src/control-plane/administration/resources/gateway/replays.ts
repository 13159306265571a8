import type { ReplayRequestsRequest } from '../../../../../proto/messages.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';
import { costOfCall } from '../../../../common/prices/price.js';
import { pricing as builtIn } from '../../../../common/prices/pricing.js';
import { ProviderPrices } from '../../../../common/prices/provider-prices.js';
import type { Place } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { VisibleLogs } from '../../access/visible-logs.js';
import { AdminError } from '../../admin-error.js';
import { checkReferences } from '../../references/config-references.js';
import { nobodysKey } from '../../references/nobodys-key.js';
import type { AdminParts, Service } from '../../service.js';
import { compare, type Replayed, type ReplayTarget } from './replay.js';

const usualLast = 1000;
/** Bodies that a replay has in memory at once, in bytes; further requests are taken without theirs. */
const mostBodyBytes = 64 * 1024 * 1024;

/** Endpoints whose bodies the gateway reads. */
const isRead = ({ method, path }: LedgerRow): boolean =>
  method === 'POST' && /^\/v1\/(?:chat\/completions|completions|embeddings|messages|responses)$/.test(path);

/** The body of a request that was not logged, as far as routing needs it. */
const assumedBody = ({ modelAsked, stream, path }: LedgerRow): string =>
  JSON.stringify({
    ...(modelAsked !== null && { model: modelAsked }),
    ...(path.endsWith('/embeddings') || path.endsWith('/responses')
      ? { input: '' }
      : path.endsWith('/v1/completions')
        ? { prompt: '' }
        : { messages: [{ role: 'user', content: '' }] }),
    ...(path.endsWith('/messages') && { max_tokens: 1 }),
    ...(stream && { stream: true }),
  });

/** Replays of recorded requests. */
export function replaysService({
  store,
  ledger,
  explain,
  validateConfig,
  pricing = builtIn,
}: AdminParts): Pick<Service<'Requests'>, 'ReplayRequests'> {
  /** Organisations for which one is running. */
  const running = new Set<string>();

  /** What a target costs now, by the prices of its integration and its organisation. */
  function costs(place: Place) {
    const found = new Map<string, { provider: string; prices: ProviderPrices | null } | null>();
    const pricesOf = async (slug: string) => {
      const known = found.get(slug);
      if (known !== undefined) return known;
      const stored = await store.providers.get(place, slug);
      let made: { provider: string; prices: ProviderPrices | null } | null = null;
      if (stored !== null) {
        const { provider, integration } = stored;
        const record =
          integration === null
            ? { organisation: await store.modelPrices.of(place.organisationId, provider) }
            : await store.integrations.prices(place.organisationId, integration.slug);
        made = { provider, prices: record === null ? null : new ProviderPrices(provider, record) };
      }
      found.set(slug, made);
      return made;
    };
    return async (row: LedgerRow, target: ReplayTarget): Promise<number | null> => {
      const own = target.slug === null ? null : await pricesOf(target.slug);
      const provider = own?.provider ?? target.provider;
      if (provider === null || target.model === null || row.usage.source === 'none') return null;
      const quote = own?.prices
        ? own.prices.quoteOf(pricing, null, target.model, row.at)
        : pricing.quoteOf(provider, target.model, row.at);
      return quote === null ? null : costOfCall(row.usage, quote.price);
    };
  }

  async function replayed(
    place: Place,
    config: string,
    rows: readonly LedgerRow[],
    seesMetadata: boolean,
    gone: AbortSignal,
  ): Promise<Replayed[]> {
    const all: Replayed[] = [];
    let bytes = 0;
    for (const row of rows) {
      if (gone.aborted) throw new AdminError('deadline', 'The client has disconnected.');
      const bodies: Bodies | null =
        bytes < mostBodyBytes ? await ledger.bodies(place.organisationId, row.id) : null;
      const body = bodies === null || bodies.cut ? null : bodies.request;
      bytes += body?.length ?? 0;
      const began = performance.now();
      const explained = await explain?.({
        key: nobodysKey(place),
        path: row.path,
        // If it is hidden, conditions of the draft could be used to guess it.
        headers: seesMetadata ? ['x-gateway-metadata', JSON.stringify(row.metadata)] : [],
        config,
        body: body ?? assumedBody(row),
      });
      if (!explained)
        throw new AdminError('unavailable', 'No data worker can explain requests now: try again shortly.');
      // What is shown of each body is not needed here, and would add up.
      const nodes = explained.nodes.map((node) => ({ ...node, body: null, limits: [] }));
      all.push({ row, body, explained: { ...explained, nodes, limits: [] } });
      // The worker also serves requests: replays use at most half of its time.
      await new Promise((resolve) => setTimeout(resolve, Math.min(20, performance.now() - began)));
    }
    return all;
  }

  async function replay(
    caller: Caller,
    place: Place,
    visible: VisibleLogs,
    request: ReplayRequestsRequest,
    gone: AbortSignal,
  ) {
    const text = typeof request.config === 'string' ? request.config : JSON.stringify(request.config);
    await validateConfig(text);
    const draft: unknown = JSON.parse(text);
    await checkReferences(caller, place, draft);
    const { keys } = visible.sight;
    const { rows } = await ledger.recent({
      ...{ org: place.organisationId, workspace: place.workspaceId },
      ...(keys !== null && { keys }),
      limit: request.last ?? usualLast,
    });
    const taken = rows.filter(isRead).reverse();
    const all = await replayed(place, text, taken, visible.seesMetadata(place.workspaceId), gone);
    return {
      object: 'replay',
      requests: all.length,
      with_body: all.filter(({ body }) => body !== null).length,
      skipped: rows.length - taken.length,
      ...(await compare(draft, all, costs(place))),
    };
  }

  return {
    async ReplayRequests(caller, request, gone) {
      if (!caller.has('logs.list') && !caller.has('logs.view'))
        throw new AdminError('AB03', 'This key lacks the scope logs.list or logs.view.');
      const place = await caller.place(request.workspace_id);
      const visible = await VisibleLogs.of(caller, place.workspaceId, 'logs');
      if (running.has(place.organisationId))
        throw new AdminError('AB06', 'Another replay is running: wait until it has ended.');
      running.add(place.organisationId);
      try {
        return await replay(caller, place, visible, request, gone);
      } finally {
        running.delete(place.organisationId);
      }
    },
  };
}
