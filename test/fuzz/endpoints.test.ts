import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import { passthroughPath } from '../../src/data-plane/endpoints/paths/passthrough-path.js';
import { chatRules } from '../../src/data-plane/endpoints/rules/chat-rules.js';
import {
  completionRules,
  embeddingRules,
  moderationRules,
} from '../../src/data-plane/endpoints/rules/text-rules.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { readBody } from '../support/read-body.js';

/** Runs `run`; a GatewayError is fine, anything else is a bug. */
function refused(run: () => unknown): GatewayError | null {
  try {
    run();
    return null;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

describe('endpoints under fuzz', () => {
  const endpoints = [
    ['/v1/chat/completions', chatRules, { model: 'm', messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/completions', completionRules, { model: 'm', prompt: 'x' }],
    ['/v1/embeddings', embeddingRules, { model: 'm', input: 'x' }],
    ['/v1/moderations', moderationRules, { input: 'x' }],
  ] as const;

  for (const [path, rules, base] of endpoints) {
    it(`${path} takes or refuses any body, and names the field`, () => {
      const endpoint = findEndpoint('POST', path);
      const near = fc.constantFrom<unknown>(
        'user',
        'function',
        'text',
        null,
        true,
        0,
        -1,
        1.5,
        129,
        [],
        [[]],
        {},
        [{}],
        [null],
        { type: 'function' },
        { role: 'assistant', tool_calls: [{}] },
        [{ role: 'user', content: [{ type: 'image_url' }] }],
      );
      const field = fc.constantFrom(...rules.fields.keys(), '__proto__', 'unknown');
      fc.assert(
        fc.property(
          fc.array(fc.tuple(field, fc.oneof(near, fc.jsonValue({ maxDepth: 4 }))), { maxLength: 4 }),
          (members) => {
            const body = { ...base, ...Object.fromEntries(members) };
            const error = refused(() => readBody(endpoint, [], Buffer.from(JSON.stringify(body))));
            if (error === null) return;
            expect(error.code).to.equal('invalid_request');
            expect(error.message.startsWith(error.param ?? '?')).to.equal(true);
            expect(error.param?.split(/[.[]/)[0]).to.be.oneOf([...Object.keys(body), ...rules.required]);
          },
        ),
        { numRuns: 800 },
      );
    });
  }

  it('any bytes are refused in words of the gateway', () => {
    const endpoint = findEndpoint('POST', '/v1/chat/completions');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(refused(() => readBody(endpoint, [], Buffer.from(bytes)))?.status).to.equal(400);
      }),
      { numRuns: 1000 },
    );
  });

  it('a path that is passed on stays under its base address, however it is read', () => {
    const piece = fc.constantFrom(
      'a',
      'files',
      '.',
      '..',
      '/',
      '//',
      '\\',
      '%2e',
      '%2F',
      '%5c',
      '%00',
      '%0d%0a',
      '%25',
      '2e',
      '%',
      '@evil.example',
      ':80',
      ';',
      '#',
      '?',
      ' ',
      'é',
      '\t',
      '%20',
      '~',
    );
    let taken = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const path = `/v1/${pieces.join('')}`;
        const error = refused(() => passthroughPath(path, ''));
        if (error !== null) return;
        taken++;
        const rest = path.slice(3);
        // Decoded as often as anyone might.
        let decoded = rest;
        for (let i = 0; i < 4; i++) {
          const url = new URL(`https://provider.example/base/v1${decoded}`);
          expect(url.host).to.equal('provider.example');
          expect(url.pathname.startsWith('/base/v1/')).to.equal(true);
          const slashes = rest.replace(/%2f/gi, '/').split('/').length;
          expect(url.pathname.replace(/%2f/gi, '/').split('/').length).to.equal(slashes + 2);
          try {
            decoded = decodeURIComponent(decoded);
          } catch {
            break;
          }
        }
      }),
      { numRuns: 5000 },
    );
    expect(taken).to.be.above(300);
  });
});
