import { expect } from 'chai';
import type { Format } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { CallFields } from '../../src/data-plane/providers/call-fields.js';
import { google } from '../../src/data-plane/providers/kinds/google.js';
import { vertex } from '../../src/data-plane/providers/kinds/vertex.js';
import type { ProviderDefinition } from '../../src/data-plane/providers/provider.js';
import { providers } from '../../src/data-plane/providers/rows.js';

interface Asked {
  readonly model?: string | null;
  readonly streaming?: boolean;
  readonly format?: Format;
  readonly stored?: Readonly<Record<string, string>>;
}

const place = { vertex_project_id: 'p', vertex_region: 'us-central1' };

function row(
  provider: ProviderDefinition,
  fields: Readonly<Record<string, string>>,
  asked: Asked = {},
): ProviderDefinition {
  const { model = 'gemini-2.5-flash', streaming = false, format = 'openai-chat', stored = null } = asked;
  const call = { format, model, streaming, fields: new CallFields(stored, fields), hasBase: false };
  return (provider.forCall as NonNullable<ProviderDefinition['forCall']>)(call);
}

const account = (project_id: string): string =>
  JSON.stringify({ type: 'service_account', project_id, client_email: 'a@b', private_key: 'k' });

describe('Vertex AI’s addresses', () => {
  for (const [region, host] of [
    ['us-central1', 'us-central1-aiplatform.googleapis.com'],
    ['global', 'aiplatform.googleapis.com'],
    ['eu', 'aiplatform.eu.rep.googleapis.com'],
  ] as const) {
    it(`are at ${host} for ${region}`, () => {
      const { base, paths } = row(vertex, { ...place, vertex_region: region });
      expect(base).to.equal(`https://${host}/v1`);
      expect(paths['gemini-generate-content']).to.equal(
        `/projects/p/locations/${region}/publishers/google/models/gemini-2.5-flash:generateContent`,
      );
    });
  }

  it('need no project where the key contains it', () => {
    const { base, paths } = row(vertex, {}, { streaming: true });
    expect(base).to.equal('https://aiplatform.googleapis.com/v1');
    expect(paths['gemini-generate-content']).to.equal(
      '/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    );
  });

  it('take the project from a service account; a stored one is not for a caller to use elsewhere', () => {
    const region = { vertex_region: 'us-central1' };
    const pathOf = (fields: Record<string, string>, stored?: Record<string, string>): string | undefined =>
      row(vertex, { ...region, ...fields }, stored === undefined ? {} : { stored }).paths[
        'gemini-generate-content'
      ];
    expect(pathOf({ vertex_service_account_json: account('mine') })).to.include('/projects/mine/');
    expect(pathOf({ vertex_service_account_json: account('mine'), vertex_project_id: 'other' })).to.include(
      '/projects/other/',
    );
    expect(
      pathOf({ vertex_project_id: 'other' }, { vertex_service_account_json: account('kept') }),
    ).to.include('/projects/kept/');
  });

  it('of Claude have the model in the path, the version in the body, and a place for counting', () => {
    const asked = { model: 'anthropic.claude-sonnet-4-5@20250929', streaming: true };
    const { paths, quirks = [] } = row(vertex, place, asked);
    const models = '/projects/p/locations/us-central1/publishers/anthropic/models';
    expect(paths['anthropic-messages']).to.equal(`${models}/claude-sonnet-4-5@20250929:streamRawPredict`);
    expect(paths['anthropic-count-tokens']).to.equal(`${models}/count-tokens:rawPredict`);
    const body = Object.freeze({ model: 'x', messages: [] });
    const sent = quirks.reduce((out: Record<string, unknown>, quirk) => quirk.apply(out), body);
    expect(sent).to.deep.equal({ anthropic_version: 'vertex-2023-10-16', messages: [] });
    const counting = row(vertex, place, { ...asked, format: 'anthropic-count-tokens' }).quirks ?? [];
    expect(counting[0]?.apply(body)).to.deep.include({ model: 'claude-sonnet-4-5@20250929' });
    expect(row(vertex, place, { model: 'claude-opus-4-1' }).paths).to.have.property('anthropic-messages');
  });

  it('of other publishers speak OpenAI’s format, each under its own name', () => {
    for (const [model, name, path] of [
      ['meta.llama-4-scout', 'meta/llama-4-scout', '/endpoints/openapi/chat/completions'],
      ['qwen/qwen3-coder', 'qwen/qwen3-coder', '/endpoints/openapi/chat/completions'],
      ['endpoints.42', '42', '/endpoints/42/chat/completions'],
      [
        'mistralai.mistral-medium-3',
        'mistral-medium-3',
        '/publishers/mistralai/models/mistral-medium-3:rawPredict',
      ],
    ] as const) {
      const { paths, quirks = [] } = row(vertex, place, { model });
      expect(paths).to.deep.equal({ 'openai-chat': `/projects/p/locations/us-central1${path}` });
      expect(
        quirks.reduce((out: Record<string, unknown>, quirk) => quirk.apply(out), { model }),
      ).to.deep.equal({
        model: name,
      });
    }
  });

  it('of Mistral are sent what Mistral itself is sent, and their answers are read as its own', () => {
    const mistral = providers.get('mistral-ai');
    const { quirks, dialect } = row(vertex, place, { model: 'mistralai.mistral-medium-3' });
    expect(quirks).to.include.members([...mistral!.quirks!]);
    expect(dialect).to.equal(mistral!.dialect);
  });

  it('are not made of what is no region, project or model', () => {
    const refused = (fields: Record<string, string>, asked: Asked = {}): string | null => {
      try {
        row(vertex, fields, asked);
        return null;
      } catch (error) {
        return (error as GatewayError).param;
      }
    };
    expect(refused({ vertex_project_id: 'p' })).to.equal('vertex_region');
    for (const vertex_region of ['evil.com/', 'a@b', 'us-central1.evil.com', '-x', 'US'])
      expect(refused({ ...place, vertex_region }), vertex_region).to.equal('vertex_region');
    for (const vertex_project_id of ['../x', 'a/b', 'a?b', 'A'])
      expect(refused({ ...place, vertex_project_id }), vertex_project_id).to.equal('vertex_project_id');
    for (const model of ['', '..', '../x', 'google...', 'a//b', null])
      expect(refused(place, { model }), String(model)).to.equal('model');
  });
});

describe('Gemini’s addresses', () => {
  it('have the model in the path, which nothing leaves by', () => {
    const path = (model: string | null): string | undefined =>
      row(google, {}, { model }).paths['gemini-generate-content'];
    expect(path('gemini-2.5-flash')).to.equal('/models/gemini-2.5-flash:generateContent');
    expect(path('tunedModels/mine')).to.equal('/tunedModels/mine:generateContent');
    expect(path('a?key=b#c')).to.equal('/models/a%3Fkey%3Db%23c:generateContent');
    for (const model of ['..', 'models/../x', '', null])
      expect(() => path(model)).to.throw(GatewayError, 'model');
  });

  it('of what is passed through are the base alone', () => {
    expect(row(google, {}, { format: 'none', model: null })).to.equal(google);
    expect(row(vertex, place, { format: 'none', model: null }).base).to.include('us-central1');
  });
});
