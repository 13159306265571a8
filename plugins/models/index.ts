import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../src/common/core/exchange.js';
import { getHeader } from '../../src/common/http/headers.js';
import type { Shared } from '../../src/common/ipc/shared.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { type ModelsQuestion, modelIdIn } from '../../src/common/vocabulary/model-list.js';
import stage from './stage.js';

/**
 * Answers a call for models without a provider with the models that its key may use, as the control process lists them.
 * Where the key's default config names a provider, the call is passed on. `fetch-integrated-models` asks for the
 * models of the key in any case.
 */
export default definePlugin<Record<string, never>, NeedsOf<typeof stage>>({
  ...stage,
  setup: (_options, { shared, headerPrefixes }) => {
    const headers = headerPrefixes.map((prefix) => `${prefix}fetch-integrated-models`);
    return {
      request(x) {
        if (x.endpoint.name !== 'models') return;
        if (!namesProvider(x) || isIntegratedAsked(x, headers)) return answer(shared, x);
        checkPassedOn(x);
      },
    };
  },
});

/** By the config, or by the first of `headers` that the call has. */
function isIntegratedAsked({ config, request }: Exchange, headers: readonly string[]): boolean {
  const name = headers.find((one) => getHeader(request.headers, one) !== undefined);
  const value = name === undefined ? 'false' : getHeader(request.headers, name)!.toLowerCase();
  if (value !== 'true' && value !== 'false' && value !== '')
    throw new GatewayError('invalid_request', `${headers[0]} must be true or false.`, { param: headers[0]! });
  return value === 'true' || config.listsIntegrated === true;
}

function namesProvider({ config }: Exchange): boolean {
  const { root, version } = config;
  if (version !== 'none' || root.kind !== 'target') return true;
  return root.target.provider !== null || root.target.virtualKey !== null;
}

/** Throws if the key may only list models. */
function checkPassedOn({ principal, request }: Exchange): void {
  if (principal.workspaceId === null) {
    throw new GatewayError(
      'permission_denied',
      'An admin key cannot call providers: name none to list the models of a workspace, or use a workspace key.',
    );
  }
  if (modelIdIn(request.path) !== null && !principal.scopes.includes('completions.write')) {
    throw new GatewayError(
      'permission_denied',
      'This API key lacks the scope completions.write: add it to the key or use another key.',
    );
  }
}

async function answer(shared: Pick<Shared, 'ask'>, x: Exchange): Promise<Reply> {
  const found = await ask(shared, {
    organisation: x.principal.organisationId,
    workspace: x.principal.workspaceId,
    shape: shapeOf(x),
    id: modelIdIn(x.request.path),
    query: x.request.query,
  });
  return {
    status: 200,
    headers: ['content-type', 'application/json'],
    body: found,
    events: false,
    errorOrigin: null,
  };
}

async function ask(shared: Pick<Shared, 'ask'>, question: ModelsQuestion): Promise<string> {
  const found = await shared.ask('models', question).catch((cause: unknown) => {
    throw new GatewayError(
      'store_unavailable',
      'The gateway cannot look its models up right now: try again shortly.',
      { cause, retryAfterMs: 1000 },
    );
  });
  if ('body' in found) return found.body;
  throw new GatewayError(found.code, found.message, { param: found.param });
}

function shapeOf({ request }: Exchange): ModelsQuestion['shape'] {
  if (request.path.startsWith('/v1beta/')) return 'gemini';
  return getHeader(request.headers, 'anthropic-version') === undefined ? 'openai' : 'anthropic';
}
