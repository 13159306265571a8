import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { modelIdIn } from '../../src/common/vocabulary/model-list.js';
import { geminiCall } from '../../src/data-plane/endpoints/paths/gemini-path.js';
import { passthroughPath } from '../../src/data-plane/endpoints/paths/passthrough-path.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { expectWithinMs } from '../support/time-limits.js';

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code;
    throw thrown;
  }
  return 'none';
}

describe('endpoint table', () => {
  it('finds the endpoints of the OpenAI API', () => {
    expect(findEndpoint('POST', '/v1/chat/completions')).to.include({
      name: 'chat',
      format: 'openai-chat',
      body: 'json',
    });
    expect(findEndpoint('POST', '/v1/completions')).to.include({ name: 'completions', body: 'json' });
    expect(findEndpoint('POST', '/v1/embeddings')).to.include({ name: 'embeddings', body: 'json' });
    expect(findEndpoint('POST', '/v1/moderations')).to.include({ name: 'moderations', body: 'json' });
    expect(findEndpoint('POST', '/v1/rerank')).to.include({ name: 'rerank', body: 'json' });
    expect(findEndpoint('GET', '/v1/models')).to.include({ name: 'models', format: 'none', body: 'stream' });
  });

  it('finds the endpoints of the Responses and the Gemini API', () => {
    expect(findEndpoint('POST', '/v1/responses')).to.include({ name: 'responses', body: 'json' });
    for (const path of ['/v1/responses/resp_1', '/v1/responses/resp_1/input_items']) {
      expect(findEndpoint('GET', path)).to.include({ name: 'stored-responses', needs: 'openai-responses' });
    }
    for (const [method, format] of [
      ['generateContent', 'gemini-generate-content'],
      ['streamGenerateContent', 'gemini-generate-content'],
      ['countTokens', 'gemini-count-tokens'],
      ['embedContent', 'gemini-embed-content'],
      ['batchEmbedContents', 'gemini-batch-embed-contents'],
    ] as const) {
      for (const model of ['gemini-2.5-flash', '@main/gpt-4o', '%40main%2Fgpt-4o', 'ft:gpt-4o:org']) {
        const path = `/v1beta/models/${model}:${method}`;
        expect(findEndpoint('POST', path), path).to.include({ format, body: 'json', modelInPath: true });
        expect(codeOf(() => findEndpoint('GET', path))).to.equal('method_not_allowed');
      }
    }
    expect(findEndpoint('POST', '/v1beta/models').name).to.equal('passthrough');
    expect(findEndpoint('POST', '/v1beta/cachedContents').name).to.equal('passthrough');
  });

  it('takes the list of models and each model on it for one endpoint, slashes escaped or not', () => {
    for (const path of [
      '/v1/models',
      '/v1/models/gpt-4o',
      '/v1/models/@main/org/model',
      '/v1/models/@main%2Forg%2fmodel',
      '/v1beta/models',
      '/v1beta/models/@main/gpt-4o',
    ]) {
      for (const method of ['GET', 'HEAD']) {
        expect(findEndpoint(method, path).name, `${method} ${path}`).to.equal('models');
      }
    }
    expect(findEndpoint('DELETE', '/v1/models/ft:gpt-4o:x').name).to.equal('passthrough');
    for (const path of [
      '/v1/models/a%2F..%2Fb',
      '/v1/models/../files',
      '/v1/models/a%252fb',
      '/v1/models/%',
    ]) {
      expect(
        codeOf(() => findEndpoint('GET', path)),
        path,
      ).to.equal('invalid_request');
    }
    expect(modelIdIn('/v1/models/@main%2Forg%2Fmodel')).to.equal('@main/org/model');
    expect(modelIdIn('/v1beta/models/@main/org/model')).to.equal('@main/org/model');
    expect(modelIdIn('/v1/models')).to.equal(null);
    expect(codeOf(() => modelIdIn('/v1/models/%E0%A4'))).to.equal('invalid_request');
  });

  it('reads the model and the way of answering out of a Gemini path', () => {
    expect(geminiCall('/v1beta/models/%40main%2Fft:gpt-4o:x:streamGenerateContent')).to.deep.equal({
      model: '@main/ft:gpt-4o:x',
      stream: true,
    });
    expect(geminiCall('/v1beta/models/gemini:generateContent')).to.deep.equal({
      model: 'gemini',
      stream: false,
    });
    for (const model of ['', '%', '%0a', 'a%00b']) {
      expect(
        codeOf(() => geminiCall(`/v1beta/models/${model}:generateContent`)),
        model,
      ).to.equal('invalid_request');
    }
  });

  it('passes everything else under /v1/ through', () => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD']) {
      expect(findEndpoint(method, '/v1/fine_tuning/jobs/ft-1/checkpoints')).to.include({
        name: 'passthrough',
        body: 'stream',
      });
    }
    for (const path of [
      '/v1/chat/completions/chatcmpl-1',
      '/v1/model/arn:aws:bedrock:eu-west-1:1:inference-profile%2Feu.claude/converse',
      '/v1/a...b/.well-known/x..y',
    ]) {
      expect(findEndpoint('GET', path).name, path).to.equal('passthrough');
    }
  });

  it('returns the method that an endpoint accepts', () => {
    for (const [method, path] of [
      ['GET', '/v1/chat/completions'],
      ['PUT', '/v1/embeddings'],
      ['POST', '/v1/models'],
      ['OPTIONS', '/v1/files'],
      ['TRACE', '/v1/files'],
      ['post', '/v1/completions'],
    ] as const) {
      expect(
        codeOf(() => findEndpoint(method, path)),
        `${method} ${path}`,
      ).to.equal('method_not_allowed');
    }
    expect(() => findEndpoint('GET', '/v1/chat/completions')).to.throw(GatewayError, 'takes POST only');
  });

  it('finds nothing outside /v1/', () => {
    for (const path of [
      '/',
      '',
      '/v1',
      '/v1/',
      '/v2/chat/completions',
      '/V1/Chat',
      '/v1chat',
      '//v1/files',
      'http://evil/v1/files',
      '*',
    ]) {
      expect(
        codeOf(() => findEndpoint('GET', path)),
        path,
      ).to.equal('not_found');
    }
  });
});

describe('passthrough path', () => {
  it('keeps path and query as they came', () => {
    expect(passthroughPath('/v1/files', '')).to.equal('/files');
    expect(passthroughPath('/v1/files/a%20b', 'after=x&limit=2&api_key=%2F..%00')).to.equal(
      '/files/a%20b?after=x&limit=2&api_key=%2F..%00',
    );
    expect(passthroughPath('/v1/models/org%2Fname%2e1', '')).to.equal('/models/org%2Fname%2e1');
    expect(passthroughPath('/v1/users/me@example.com', 'a=b?c')).to.equal('/users/me@example.com?a=b?c');
  });

  it('keeps escaped slashes wherever they are in a name: addresses of buckets, ARNs, paths of files', () => {
    for (const name of [
      's3%3A%2F%2Fbucket%2Fkey',
      's3%3A%2F%2Fbucket%2Ffolder%2F',
      '%2Fmnt%2Fdata',
      'a%2F%2Fb',
    ]) {
      expect(passthroughPath(`/v1/files/${name}/content`, '')).to.equal(`/files/${name}/content`);
      expect(findEndpoint('GET', `/v1/files/${name}`).name, name).to.equal('passthrough');
    }
    for (const path of ['/v1/chat%2F%2Fcompletions', '/v1/chat/%2Fcompletions', '/v1/chat%2F/completions']) {
      expect(
        codeOf(() => findEndpoint('POST', path)),
        path,
      ).to.equal('not_found');
    }
  });

  const refused = [
    '/v1/../admin',
    '/v1/a/..',
    '/v1/./a',
    '/v1/a/.',
    '/v1/..;/admin',
    '/v1/..%20',
    '/v1/..?',
    '/v1/..%3f/x',
    '/v1/a/..;x=y/b',
    '/v1/..%2fadmin',
    '/v1/%2e%2e/admin',
    '/v1/%2E./admin',
    '/v1/.%2e/x',
    '/v1/%252e%252e/x',
    '/v1/a%25252fb',
    '/v1/..\\admin',
    '/v1/a\\b',
    '/v1/a%5cb',
    '/v1/chat/completion%25252573',
    '/v1/chat/completion%C1%B3',
    '/v1/chat/completion%e0%81%b3',
    '/v1/a%5Cb',
    '/v1/a%2F..%2Fb',
    '/v1/a%2F%2e%2e',
    '/v1/a%2f.%2fb',
    '/v1/%2Fevil.example',
    '/v1/%2F%2Fevil.example',
    '/v1/a%2F%2F..%2Fb',
    '/v1/a/%2F..%2Fb',
    '/v1/a%252Fb',
    '/v1//evil.example',
    '/v1/a//b',
    '/v1/@evil',
    '/v1/%00',
    '/v1/a%0d%0ab',
    '/v1/a%0Ab',
    '/v1/a%7fb',
    '/v1/a%1Fb',
    '/v1/a b',
    '/v1/a#b',
    '/v1/a\u0000b',
    '/v1/a\r\nb',
    '/v1/ä',
    '/v1/a%',
    '/v1/a%z1',
    '/v1/a%2',
    '/elsewhere',
    '/v1',
    `/v1/${'a'.repeat(8200)}`,
  ];

  for (const path of refused) {
    it(`refuses ${JSON.stringify(path.slice(0, 40))}`, () => {
      expect(codeOf(() => passthroughPath(path, ''))).to.equal('invalid_request');
      expect(codeOf(() => findEndpoint('GET', path))).to.be.oneOf(['invalid_request', 'not_found']);
    });
  }

  it('refuses a query that cannot be written', () => {
    for (const query of ['a b', 'a\r\nx: y', 'a#b', 'ä'])
      expect(codeOf(() => passthroughPath('/v1/a', query))).to.equal('invalid_request');
  });

  it('takes an address of 8 KiB in linear time', () => {
    const before = performance.now();
    expect(passthroughPath(`/v1/${'a'.repeat(8188)}`, '')).to.have.length(8189);
    for (const part of ['/.;', '%25', '.;', '%2f', '%2e', '%2f%2e'])
      codeOf(() => passthroughPath(`/v1/a${part.repeat(2700)}b`, ''));
    expectWithinMs(performance.now() - before, 50);
  });
});
