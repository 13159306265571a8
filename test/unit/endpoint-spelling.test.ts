import { expect } from 'chai';
import { adminPaths } from '../../proto/routes.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { reservedPaths } from '../../src/common/http/reserved-paths.js';
import { PathTable } from '../../src/common/ipc/path-table.js';
import { adminPathKind } from '../../src/data-plane/endpoints/paths/admin-path.js';
import { canonicalPath } from '../../src/data-plane/endpoints/paths/spelling.js';
import { endpointPaths, findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { documentedAdminPaths, documentedRoutes } from '../support/documented-paths.js';
import { expectWithinMs } from '../support/time-limits.js';

/** `endpoint` or `endpoint at path`, or the code of the refusal. */
function place(method: string, path: string): string {
  try {
    const canonical = canonicalPath(path);
    const { name } = findEndpoint(method, path);
    return canonical === path ? name : `${name} at ${canonical}`;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code;
    throw thrown;
  }
}

function refusal(path: string): GatewayError {
  try {
    findEndpoint('POST', path);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  return expect.fail(`${path} must be refused`);
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT', 'PURGE'];

describe('paths of the administration', () => {
  it('have a route or are reserved, each that the specification names, whatever the method', () => {
    for (const path of documentedAdminPaths) {
      const wanted = documentedRoutes.has(path) ? ['route', 'public'] : ['reserved'];
      expect(adminPathKind(path), path).to.be.oneOf(wanted);
      for (const method of methods)
        expect(findEndpoint(method, path).name, `${method} ${path}`).to.equal('admin');
    }
  });

  it('are the administration’s below their first segment too, where neither a route nor a reservation fits', () => {
    for (const path of ['/v1/configs/a/b/c/d', '/v1/api-keys/a/b/c', '/v1/watch/x', '/v1/audit-logs/other']) {
      expect(findEndpoint('POST', path).name, path).to.equal('admin');
      expect(adminPathKind(path), path).to.equal('unknown');
    }
  });

  it('keep a row of the reservation only while no route answers all of it', () => {
    const routes = new PathTable<true>();
    for (const path of adminPaths) routes.at(path, () => true);
    for (const row of reservedPaths) {
      const path = row.replace('/**', '');
      expect(adminPaths, `${row} has a route: take it out of the reserved paths`).to.not.include(path);
      expect(adminPathKind(path), row).to.equal('reserved');
    }
    expect([...reservedPaths].sort()).to.deep.equal(reservedPaths);
  });

  it('take a fixed segment for itself and never for an id', () => {
    const fixed = adminPaths.filter((path) => !path.includes('{'));
    for (const path of fixed) expect(adminPathKind(path), path).to.be.oneOf(['route', 'public']);
    expect(adminPathKind('/v1/logs/exports')).to.equal('route');
    expect(adminPathKind('/v1/logs/exports/x')).to.equal('route');
    expect(adminPathKind('/v1/logs/exports/x/file')).to.equal('public');
    for (const path of ['/v1/analytics/graphs/cst', '/v1/logs/groups/x/y'])
      expect(adminPathKind(path), path).to.be.oneOf(['unknown', 'route']);
    expect(adminPathKind('/v1/logs/export')).to.equal('route');
    expect(place('GET', '/v1/logs/%65xports')).to.equal('not_found');
    expect(place('GET', '/v1/providers/%6dodels')).to.equal('not_found');
    expect(place('GET', '/v1/configs/a%20b')).to.equal('admin');
  });

  it('may be called without a key only where a method allows it', () => {
    const open = adminPaths.filter((path) => adminPathKind(path.replace(/\{\w+\}/g, 'x')) === 'public');
    expect(open).to.deep.equal([
      '/docs',
      '/docs/style.css',
      '/model-configs/pricing/{provider}/{model}',
      '/v1/admin/users/invites/accept',
      '/v1/admin/users/invites/accept.js',
      '/v1/auth/oidc/callback',
      '/v1/auth/oidc/start',
      '/v1/auth/sign-in',
      '/v1/logs/exports/{export_id}/file',
      '/v1/model-configs/pricing/{provider}/{model}',
      '/v1/openapi.json',
    ]);
  });
});

describe('another spelling of a path', () => {
  const same: readonly (readonly [method: string, path: string, place: string])[] = [
    ['POST', '/v1/chat/completion%73', 'chat at /v1/chat/completions'],
    ['POST', '/v1/%63hat/completions', 'chat at /v1/chat/completions'],
    ['POST', '/%76%31/chat/completions', 'chat at /v1/chat/completions'],
    ['POST', '/v1/chat/completions/', 'chat at /v1/chat/completions'],
    ['POST', '/v1/chat/completion%73/', 'chat at /v1/chat/completions'],
    ['POST', '/v1/messages/count%5Ftokens', 'count-tokens at /v1/messages/count_tokens'],
    ['GET', '/v1/models/', 'models at /v1/models'],
    ['POST', '/v1/responses/', 'responses at /v1/responses'],
    ['GET', '/v1/response%73/resp_1', 'stored-responses at /v1/responses/resp_1'],
    ['GET', '/v1/watch/', 'admin at /v1/watch'],
    // An empty id is refused by the administration: it must not become the list.
    ['GET', '/v1/configs/', 'admin'],
    [
      'POST',
      '/v1beta/models/gemini%2D2:generateContent',
      'gemini-generate at /v1beta/models/gemini-2:generateContent',
    ],
    [
      'POST',
      '/v1beta/models/gemini-2:generateContent/',
      'gemini-generate at /v1beta/models/gemini-2:generateContent',
    ],
    ['POST', '/v1beta/models/%40main%2Fgpt-4o:generateContent', 'gemini-generate'],
    ['GET', '/v1/files/a%7Eb/', 'passthrough'],
    ['GET', '/v1/models/gpt%2D4o', 'models'],
    ['POST', '/v1/images/generations', 'passthrough'],
    ['GET', '/v1beta/models', 'models'],
    ['POST', '/v1beta/cachedContents', 'passthrough'],
    // Of Azure, whose paths share a first segment with the administration's.
    ['POST', '/v1/deployments/GPT-4o/chat/completions', 'passthrough'],
    ['POST', '/v1/deployments/dall-e/images/generations', 'passthrough'],
    ['POST', '/v1/openai/deployments/whisper/audio/transcriptions', 'passthrough'],
    ['GET', '/v1/deployments/dall-e', 'admin'],
    ['POST', '/v1/deployments/dall-e/ping', 'admin'],
    ['POST', '/v1/deployments/dall-e/pong', 'admin'],
  ];
  for (const [method, path, wanted] of same) {
    it(`${path} is ${wanted}`, () => expect(place(method, path)).to.equal(wanted));
  }

  const refused: readonly (readonly [path: string, names: string])[] = [
    ['/v1/Chat/Completions', '/v1/chat/completions'],
    ['/v1/CHAT/completions/', '/v1/chat/completions'],
    ['/V1/chat/completions', '/v1/chat/completions'],
    ['/v1/chat//completions', '/v1/chat/completions'],
    ['/v1//chat/completions', '/v1/chat/completions'],
    ['//v1/chat/completions', '/v1/chat/completions'],
    ['/v1/chat/completions//', '/v1/chat/completions'],
    ['/v1/chat/completions;x=1', '/v1/chat/completions'],
    ['/v1/chat;a/completions', '/v1/chat/completions'],
    ['/v1/chat%2Fcompletions', '/v1/chat/completions'],
    ['/v1/chat%2fcompletions%2f', '/v1/chat/completions'],
    ['/v1/chat%252Fcompletions', '/v1/chat/completions'],
    ['/v1/chat/completions%3Bx', '/v1/chat/completions'],
    ['/v1/chat/completions%3Fx', '/v1/chat/completions'],
    ['/v1/chat/completions%23x', '/v1/chat/completions'],
    ['/v1/chat/completions%20', '/v1/chat/completions'],
    ['/v1/chat/completions.', '/v1/chat/completions'],
    ['/v1/chat/completion%2573', '/v1/chat/completions'],
    ['/v1/chat/completion%C5%BF', '/v1/chat/completions'],
    ['/v1/%EF%BC%A3hat/completions', '/v1/chat/completions'],
    ['/v1/Embeddings', '/v1/embeddings'],
    ['/v1/Responses', '/v1/responses'],
    ['/v1/Responses/resp_1', '/v1/responses/{id}'],
    ['/v1/Models', '/v1/models'],
    ['/v1/API-KEYS', '/v1/api-keys'],
    ['/v1/Api-Keys/x/rotate', '/v1/api-keys'],
    // A proxy that keeps the administration from the outside may compare paths as they come.
    ['/v1/api%2Dkeys', '/v1/api-keys'],
    ['/v1/%66eedback', '/v1/feedback'],
    ['/v1/admin/%75sers', '/v1/admin'],
    ['/%76%31/configs', '/v1/configs'],
    ['/v1/Feedback', '/v1/feedback'],
    ['/v1/secret-references%2Fx', '/v1/secret-references'],
    ['/v1/prompts%2Fx', '/v1/prompts'],
    ['/v1/logs%2Fexports', '/v1/logs'],
    // The version is cut from a passed-on path, so a wrong or repeated one would lead to the same place.
    ['/v1beta/chat/completions', '/v1/chat/completions'],
    ['/v1beta/responses/resp_1', '/v1/responses/{id}'],
    ['/v1beta/api-keys', '/v1/api-keys'],
    ['/v1beta/feedback', '/v1/feedback'],
    ['/v1/v1/chat/completions', '/v1/chat/completions'],
    ['/v1beta/openai/chat/completions', '/v1/chat/completions'],
    ['/v1/models/gemini-2:generateContent', '/v1beta/models/{model}:generateContent'],
    ['/v1/v1beta/models/gemini-2:generateContent', '/v1beta/models/{model}:generateContent'],
    ['/v1beta/Models/gemini-2:generateContent', '/v1beta/models/{model}:generateContent'],
    ['/v1beta/models/gemini-2:GenerateContent', '/v1beta/models/{model}:generateContent'],
    ['/v1beta/models/gemini-2%3AgenerateContent', '/v1beta/models/{model}:generateContent'],
    ['/v1beta/models/gemini-2:streamGenerateContent;x', '/v1beta/models/{model}:streamGenerateContent'],
  ];
  for (const [path, name] of refused) {
    it(`${path} is refused, and ${name} named`, () => {
      const error = refusal(path);
      expect(error.code).to.equal('not_found');
      expect(error.message).to.include(`${name}.`);
    });
  }

  it('with its version twice is explained by the base URL', () => {
    for (const path of [
      '/v1/v1/chat/completions',
      '/v1/v1/messages',
      '/v1/v1/api-keys',
      '/v1/v1beta/models/gemini-2:generateContent',
      '/v1beta/v1beta/models/gemini-2:generateContent',
    ])
      expect(refusal(path).message).to.match(
        /^The path has its version twice; remove one, usually the last segment of the base URL: send \/v1/,
      );
    expect(refusal('/v1/Chat/Completions').message).to.not.include('twice');
  });

  it('is found in no spelling that is made by accident of any endpoint or route', () => {
    const paths = [
      ...endpointPaths,
      ...adminPaths.filter((path) => path.startsWith('/v1/')).map((path) => path.replace(/\{\w+\}/g, 'x')),
      ...documentedAdminPaths.filter((path) => path.startsWith('/v1/')),
    ];
    const escapeOf = (text: string): string =>
      `%${text.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
    const head = (path: string): string => path.split('/')[2]!;
    const variants: readonly ((path: string) => string)[] = [
      (path) => path.toUpperCase().replace('/V1', '/v1'),
      (path) => path.replace(head(path), head(path)[0]!.toUpperCase() + head(path).slice(1)),
      (path) => `${path}/`,
      (path) => `${path}//`,
      (path) => path.replace('/v1/', '/v1//'),
      (path) => path.replace('/v1/', '/v1beta/'),
      (path) => path.replace('/v1/', '/v1/v1/'),
      (path) => path.replace(/^\/v1\/(.)/, (_, first: string) => `/v1/${escapeOf(first)}`),
      (path) => path.replace(/.$/, escapeOf),
      (path) => `${path};a=b`,
      (path) => path.replace(/\/([^/]*)$/, (_, last: string) => `%2F${last}`),
    ];
    for (const path of paths) {
      for (const vary of variants) {
        const variant = vary(path);
        // Gemini's own model list.
        if (variant === '/v1beta/models') continue;
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
          expect(place(method, variant).split(' ')[0], `${method} ${variant}`).to.not.equal('passthrough');
        }
      }
    }
  });

  it('is looked for in linear time, however long and twisted it is', () => {
    const before = performance.now();
    for (const part of ['/', '%25', '%2F', ';', 'A', '%C5', '.', '/a;', '%2525']) {
      place('POST', `/v1/${part.repeat(8000 / part.length)}`);
    }
    expectWithinMs(performance.now() - before, 200);
  });
});
