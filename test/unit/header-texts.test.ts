import { expect } from 'chai';
import { loggedHeaders } from '../../src/common/http/logged-headers.js';
import { headersJson } from '../../src/data-plane/pipeline/header-texts.js';

describe('headers of a request as JSON', () => {
  const none = new Set<string>();
  const written = (headers: string[], sensitive = none): unknown =>
    JSON.parse(headersJson(headers, sensitive));

  it('are what the log has of them, whatever the request before had', () => {
    const requests = [
      ['host', 'one', 'authorization', 'Bearer sk-canary', 'x-note', 'a"\\é\ud800 😀', '__proto__', 'x'],
      ['host', 'two', 'authorization', 'Bearer sk-other', 'x-note', 'a"\\é\ud800 😀'],
      ['authorization', 'Bearer sk-canary', 'host', 'one'],
      ['host', 'one', 'x-note', 'a', 'x-note', 'b'],
      ['x-gateway-config', '{"api_key":"sk-canary"}', 'x-gateway-config', 'pc-prod'],
      ['x-long', 'x'.repeat(5000), 'x'.repeat(300), 'left out'],
      [],
      Array.from({ length: 400 }, (_, i) => `x-${i}`),
    ];
    for (const headers of [...requests, ...requests]) {
      const logged = loggedHeaders(headers, none);
      const whole = Object.fromEntries(
        Object.entries(logged).map(([name, value]) => [name, value.replaceAll('\ud800 ', '\ufffd ')]),
      );
      expect(written(headers)).to.deep.equal({ request: whole });
      expect(headersJson(headers, none))
        .to.match(/^[\x20-\x7e]*$/)
        .and.not.include('sk-');
    }
  });

  it('have masked what one request wants masked, and shown what the next one does not', () => {
    const headers = ['x-patient', 'Ann', 'x-ward', '7'];
    const shown = { request: { 'x-patient': 'Ann', 'x-ward': '7' } };
    expect(written(headers)).to.deep.equal(shown);
    expect(written(headers, new Set(['x-patient']))).to.deep.equal({
      request: { 'x-patient': '***', 'x-ward': '7' },
    });
    expect(written(headers)).to.deep.equal(shown);
  });
});
