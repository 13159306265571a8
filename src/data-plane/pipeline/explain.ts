import { GatewayError } from '../../common/core/errors.js';
import { type ClientRequest, Exchange, type JsonObject } from '../../common/core/exchange.js';
import type { Target } from '../../common/core/target.js';
import type { HeaderList } from '../../common/http/headers.js';
import type { Explained, ExplainedNode, Plan, PlannedNode, ToExplain } from '../../common/ipc/explained.js';
import { stringifyJson } from '../../common/json/json.js';
import { uuidv7 } from '../../common/text/id.js';
import { canonicalPath } from '../endpoints/paths/spelling.js';
import { canonicalEndpoint } from '../endpoints/table.js';
import { resolveAddress } from './outgoing/address.js';
import { mergedBody } from './outgoing/target-body.js';
import type { Pipeline } from './parts.js';

/**
 * Plans a request with the stages that it would pass, without calling an upstream, counting
 * or recording anything.
 */
export async function explain(pipeline: Pipeline, asked: ToExplain): Promise<Explained> {
  const plan: Plan = {
    ...{ cache: null, route: null, limits: [], limitsOf: null },
    ...(asked.judge !== undefined && { judge: asked.judge }),
  };
  let x: Exchange | null = null;
  let refused: Explained['refused'] = null;
  try {
    x = exchangeOf(pipeline, asked);
    for (const hook of pipeline.chain.explain) await hook(x, plan);
  } catch (thrown) {
    const { code, message, errors } = GatewayError.from(thrown);
    refused = { code, message: [message, ...(errors ?? []).slice(1)].join(' ') };
  }
  return {
    refused,
    config: x?.config?.slug ?? null,
    configVersion: x?.config?.version ?? 'none',
    cache: plan.cache,
    limits: plan.limits,
    judged: plan.judged ?? null,
    nodes: x === null || plan.route === null ? [] : await new Teller(pipeline, x, plan).nodes(plan.route, 0),
  };
}

function exchangeOf(pipeline: Pipeline, { key, headers, config, body, ...asked }: ToExplain): Exchange {
  const path = canonicalPath(asked.path);
  const endpoint = canonicalEndpoint('POST', path);
  if (endpoint.body !== 'json') {
    throw new GatewayError(
      'invalid_request',
      `Requests to ${path} are passed on unread: give the path of an endpoint whose bodies the gateway reads.`,
      { param: 'path' },
    );
  }
  const all: HeaderList = ['content-type', 'application/json'];
  // Of several headers of a name the first counts.
  if (config !== null) all.push(`${pipeline.headerPrefixes[0]}config`, config);
  all.push(...headers);
  const request: ClientRequest = {
    method: 'POST',
    path,
    query: '',
    headers: all,
    remoteAddress: '',
    bytes: Buffer.from(body),
    stream: null,
    json: null,
  };
  const x = new Exchange(uuidv7(), endpoint, request);
  x.principal = key;
  return x;
}

/** Limit for all shown bodies together, in bytes; those of further targets are left out. */
const maxBodyBytes = 256 * 1024;

type Addressed = Pick<ExplainedNode, 'provider' | 'virtual_key' | 'model' | 'body' | 'limits' | 'error'>;

const unaddressed: Addressed = {
  provider: null,
  virtual_key: null,
  model: null,
  body: null,
  limits: [],
  error: null,
};

/** Converts a plan to the administration's message, with the address and body of each target. */
class Teller {
  #bytes = 0;

  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
    readonly plan: Plan,
  ) {}

  async nodes({ target, children, ...node }: PlannedNode, depth: number): Promise<ExplainedNode[]> {
    const own: ExplainedNode = {
      ...node,
      depth,
      notes: target === null ? [] : notesOf(target),
      ...(target === null || node.turn === 0 ? unaddressed : await this.#addressed(target)),
    };
    const below: ExplainedNode[] = [];
    for (const child of children) below.push(...(await this.nodes(child, depth + 1)));
    return [own, ...below];
  }

  async #addressed(target: Target): Promise<Addressed> {
    const { pipeline, x, plan } = this;
    try {
      const address = await resolveAddress(x, target, pipeline.directory, pipeline.providers);
      this.#bytes += x.request.bytes!.length;
      const called = { slug: address.slug, provider: address.provider.name, model: address.model };
      const limits = (await plan.limitsOf?.(called)) ?? [];
      const { provider, slug: virtual_key, model } = called;
      const planned = { provider, virtual_key, model, limits, error: null };
      if (this.#bytes > maxBodyBytes) return { ...planned, body: null };
      const body = target.passthrough ? x.request.json! : mergedBody(x, target, address);
      return { ...planned, body: JSON.parse(stringifyJson(body)) as JsonObject };
    } catch (thrown) {
      return { ...unaddressed, error: GatewayError.from(thrown).message };
    }
  }
}

/** Settings of a target that add to a single call. */
function notesOf({ retry, breaker, concurrency, mirror, requestTimeoutMs, deadlineMs }: Target): string[] {
  const notes: string[] = [];
  if (retry !== null && retry.attempts > 0) {
    notes.push(`asked again up to ${retry.attempts} times after ${retry.onStatusCodes.join(', ')}`);
  }
  if (requestTimeoutMs !== null) notes.push(`given up after ${requestTimeoutMs} ms`);
  if (deadlineMs !== null) notes.push(`all attempts together have ${deadlineMs} ms`);
  if (breaker !== null) notes.push('has a circuit breaker');
  if (concurrency !== null) notes.push(`${concurrency.min} to ${concurrency.max} requests at a time`);
  if (mirror !== null) {
    notes.push(`${Math.round(mirror.share * 1000) / 10} % of requests are copied to ${mirror.target.path}`);
  }
  return notes;
}
