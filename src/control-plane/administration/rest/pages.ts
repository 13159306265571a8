import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { protoFolder } from '../../../../proto/tree.js';
import type { Pages } from './bridge.js';
import { docsPage, docsStyle } from './docs-page.js';
import type { RestAnswer } from './request.js';
import { acceptPage, acceptScript } from './sign-in-pages.js';

const page = (type: string, body: string, more: string[] = []): RestAnswer => ({
  status: 200,
  headers: ['content-type', type, ...more],
  body,
});

/** The page runs no script and makes no request: its contents are part of it. */
const policy = ['content-security-policy', "default-src 'none'; style-src 'self'; frame-ancestors 'none'"];

/** Made when it is first asked for: a start does not wait for it. */
function once(make: () => RestAnswer): () => RestAnswer {
  let made: RestAnswer | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

const openapi = (): string => readFileSync(join(protoFolder(), '../docs/openapi.json'), 'utf8');

/** `/v1/openapi.json`, and the same to be read at `/docs`. */
export const pages: Pages = new Map([
  ['/v1/openapi.json', once(() => page('application/json', openapi()))],
  ['/docs', once(() => page('text/html; charset=utf-8', docsPage(JSON.parse(openapi())), policy))],
  ['/v1/admin/users/invites/accept', acceptPage],
  ['/v1/admin/users/invites/accept.js', acceptScript],
  ['/docs/style.css', () => page('text/css; charset=utf-8', docsStyle)],
]);
