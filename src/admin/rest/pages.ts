import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { protoFolder } from '../../../proto/tree.js';
import type { Pages } from './bridge.js';
import { docsPage, docsStyle } from './docs-page.js';
import type { RestAnswer } from './request.js';

const page = (type: string, body: string, more: string[] = []): RestAnswer => ({
  status: 200,
  headers: ['content-type', type, ...more],
  body,
});

/** The page runs no script and asks nobody: what it shows is written into it. */
const policy = ['content-security-policy', "default-src 'none'; style-src 'self'; frame-ancestors 'none'"];

/** `/v1/openapi.json`, and the same to be read at `/docs`. */
export function openPages(): Pages {
  const text = readFileSync(join(protoFolder(), '../docs/openapi.json'), 'utf8');
  return new Map([
    ['/v1/openapi.json', page('application/json', text)],
    ['/docs', page('text/html; charset=utf-8', docsPage(JSON.parse(text)), policy)],
    ['/docs/style.css', page('text/css; charset=utf-8', docsStyle)],
  ]);
}
