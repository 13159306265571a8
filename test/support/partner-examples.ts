import type { CheckParameters, CheckPhase } from '../../plugins/guardrails/check.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
type Json = any;

interface PartnerReply {
  readonly reply: object | ((asked: Json) => object);
  readonly transformed?: readonly string[];
  /** Part of the check's data. */
  readonly data?: object;
}

/** What a partner is asked, and what follows from what it answers. */
export interface PartnerExample {
  readonly id: string;
  /** Where a check has several. */
  readonly about?: string;
  /** The check's first one, unless given. */
  readonly phase?: CheckPhase;
  readonly parameters?: CheckParameters;
  /** One text, unless given. */
  readonly texts?: readonly string[];
  readonly host: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Part of the request's body. */
  readonly body?: object;
  readonly good: readonly PartnerReply[];
  readonly bad: readonly PartnerReply[];
}

const key = 'key-of-the-partner';
const bearer = { authorization: `Bearer ${key}` };
const text = 'Hello, Ann';

const azure = {
  host: 'https://ours.cognitiveservices.azure.com',
  headers: { 'ocp-apim-subscription-key': key },
};
const severities = (severity: number, more: object = {}): object => ({
  categoriesAnalysis: [
    { category: 'Hate', severity },
    { category: 'Violence', severity: 0 },
  ],
  blocklistsMatch: [],
  ...more,
});
const azureDocuments = (found: boolean) => (asked: Json) => ({
  kind: 'PiiEntityRecognitionResults',
  results: {
    documents: asked.analysisInput.documents.map((document: Json) => ({
      ...{ id: document.id, redactedText: found ? document.text.replace('Ann', '***') : document.text },
      entities:
        found && document.text.includes('Ann') ? [{ text: 'Ann', category: 'Person', offset: 7 }] : [],
    })),
    errors: [],
  },
});

const bedrock = {
  ...{ id: 'bedrock.guard', host: 'https://bedrock-runtime.eu-central-1.amazonaws.com' },
  path: '/guardrail/g1/version/DRAFT/apply',
};
const guard = { guardrailId: 'g1', guardrailVersion: 'DRAFT' };
const calm = { action: 'NONE', outputs: [], assessments: [{}], usage: {} };
const sensitive = (action: string, output: string): object => ({
  action: 'GUARDRAIL_INTERVENED',
  outputs: [{ text: output }],
  assessments: [
    { sensitiveInformationPolicy: { piiEntities: [{ type: 'NAME', match: 'Ann', action }], regexes: [] } },
  ],
});
const hateful = {
  action: 'GUARDRAIL_INTERVENED',
  outputs: [{ text: 'Sorry.' }],
  assessments: [{ contentPolicy: { filters: [{ type: 'HATE', confidence: 'HIGH', action: 'BLOCKED' }] } }],
};

const patronus = { host: 'https://api.patronus.ai', path: '/v1/evaluate', headers: { 'x-api-key': key } };
const evaluated = (pass: boolean, additional_info: object | null = null): object => ({
  results: [
    { status: 'success', error_message: null, evaluation_result: { pass, score_raw: 0.5, additional_info } },
  ],
});
const evaluation = (
  name: string,
  evaluator: string,
  criteria?: string,
  more: object = {},
): PartnerExample => ({
  ...{ id: `patronus.${name}`, ...patronus, ...more },
  body: {
    evaluators: [{ evaluator, ...(criteria !== undefined && { criteria }), explain_strategy: 'never' }],
    ...{ evaluated_model_input: 'Who is it?', evaluated_model_output: text },
  },
  good: [{ reply: evaluated(true) }],
  bad: [{ reply: evaluated(false) }],
});

const pillar = (id: string, path: string): PartnerExample => ({
  ...{ id, host: 'https://api.pillarseclabs.com', path: `/api/v1/scan/${path}`, headers: bearer },
  parameters: { scanners: ['prompt_injection', 'pii'] },
  body: { message: text, scanners: { prompt_injection: true, pii: true } },
  good: [{ reply: { prompt_injection: false, pii: false, secrets: null } }, { reply: { pii: [] } }],
  bad: [{ reply: { prompt_injection: true, pii: false }, data: { found: ['prompt_injection'] } }],
});

const promptfoo = { host: 'https://api.promptfoo.dev', body: { input: text } };
const flagged = (category: string, is: boolean): object => ({
  model: 'm',
  results: [{ categories: { [category]: is }, category_scores: { [category]: 0.5 }, flagged: is }],
});
const personal = (value: string): object => ({
  results: [
    {
      ...{ categories: { pii: true }, category_scores: { pii: 1 }, flagged: true },
      payload: { pii: [{ entity_type: 'name', start: 7, end: 10, pii: value }] },
    },
  ],
});

const prisma = (id: string): PartnerExample => ({
  ...{ id, host: 'https://service.api.aisecurity.paloaltonetworks.com', path: '/v1/scan/sync/request' },
  headers: { 'x-pan-token': key },
  parameters: { profile_name: 'strict' },
  body: { ai_profile: { profile_name: 'strict' }, contents: [{ prompt: text }] },
  good: [{ reply: { action: 'allow', category: 'benign', prompt_detected: { dlp: false } } }],
  bad: [
    {
      reply: { action: 'block', category: 'malicious', prompt_detected: { injection: true } },
      data: { found: ['injection'] },
    },
  ],
});

const acuvity = {
  ...{ id: 'acuvity.scan', host: 'https://apex.example.com', path: '/_acuvity/scan' },
  body: { anonymization: 'FixedSize', messages: [text], redactions: [], type: 'Input' },
};
const extraction = (more: object): object => ({ extractions: [{ data: text, ...more }] });

const qualifire = (name: string, body: object, more: Partial<PartnerExample> = {}): PartnerExample => ({
  ...{ id: `qualifire.${name}`, host: 'https://proxy.qualifire.ai', path: '/api/evaluation/evaluate' },
  ...{ headers: { 'x-qualifire-api-key': key }, body },
  good: [{ reply: { status: 'success', score: 100, evaluationResults: [] } }],
  bad: [
    {
      reply: {
        ...{ status: 'failed', score: 0 },
        evaluationResults: [{ type: 'check', results: [{ name: 'label', score: 10, quote: text }] }],
      },
    },
  ],
  ...more,
});

const promptsecurity = (id: string, field: string): PartnerExample => ({
  ...{ id, host: 'https://eu.prompt.security', path: '/api/protect', headers: { 'app-id': key } },
  body: { [field]: text },
  good: [{ reply: { status: 'success', result: { [field]: { passed: true, violations: [] } } } }],
  bad: [{ reply: { result: { [field]: { passed: false, violations: ['PII'] } } }, data: { found: ['PII'] } }],
});

const pangea = (result: object): object => ({ status: 'Success', request_id: 'r', result });
const aidr = (result: object): object => ({ status: 'Success', result: { policy: 'p', ...result } });
const f5 = (outcome: string, redactedInput = ''): object => ({
  ...{ id: 's', redactedInput },
  result: {
    outcome,
    scannerResults: [{ scannerId: 'x', outcome: outcome === 'cleared' ? 'passed' : 'failed' }],
  },
});

export const partnerExamples: readonly PartnerExample[] = [
  {
    ...{ id: 'azure.contentSafety', ...azure, path: '/contentsafety/text:analyze?api-version=2024-09-01' },
    body: { text, categories: ['Hate', 'SelfHarm', 'Sexual', 'Violence'], blocklistNames: [] },
    good: [{ reply: severities(0) }, { reply: severities(1) }],
    bad: [
      { reply: severities(2), data: { found: ['Hate'] } },
      { reply: severities(0, { blocklistsMatch: [{ blocklistName: 'b', blocklistItemText: text }] }) },
    ],
  },
  {
    ...{ id: 'azure.pii', ...azure, path: '/language/:analyze-text?api-version=2024-11-01' },
    body: {
      ...{ kind: 'PiiEntityRecognition', parameters: { domain: 'none', modelVersion: 'latest' } },
      analysisInput: { documents: [{ id: '0', language: 'en', text }] },
    },
    good: [{ reply: azureDocuments(false) }],
    bad: [{ reply: azureDocuments(true), data: { found: { Person: 1 } } }],
  },
  {
    ...{ id: 'azure.pii', about: 'masked', ...azure, path: '/language/:analyze-text?api-version=2024-11-01' },
    ...{ parameters: { redact: true }, texts: ['I am Ann', 'no name'] },
    good: [
      { reply: azureDocuments(true), transformed: ['I am ***', 'no name'] },
      { reply: azureDocuments(false) },
    ],
    bad: [],
  },
  {
    ...{
      id: 'azure.shieldPrompt',
      ...azure,
      path: '/contentsafety/text:shieldPrompt?api-version=2024-09-01',
    },
    body: { userPrompt: text, documents: [] },
    good: [{ reply: { userPromptAnalysis: { attackDetected: false }, documentsAnalysis: [] } }],
    bad: [{ reply: { userPromptAnalysis: { attackDetected: true }, documentsAnalysis: [] } }],
  },
  {
    ...{ id: 'azure.protectedMaterial', ...azure },
    path: '/contentsafety/text:detectProtectedMaterial?api-version=2024-09-01',
    body: { text },
    good: [{ reply: { protectedMaterialAnalysis: { detected: false } } }],
    bad: [{ reply: { protectedMaterialAnalysis: { detected: true } } }],
  },
  {
    ...{ ...bedrock, parameters: guard },
    body: { source: 'INPUT', content: [{ text: { text } }] },
    good: [{ reply: calm }],
    bad: [
      { reply: hateful, data: { found: ['contentPolicy: HATE'] } },
      { reply: sensitive('BLOCKED', 'Sorry.') },
    ],
  },
  {
    ...{
      ...bedrock,
      about: 'an answer',
      phase: 'after',
      parameters: guard,
      body: { source: 'OUTPUT', content: [{ text: { text } }] },
    },
    good: [{ reply: calm }],
    bad: [{ reply: hateful }],
  },
  {
    ...{ ...bedrock, about: 'masked', parameters: { ...guard, redact: true }, texts: ['I am Ann', ''] },
    good: [
      { reply: sensitive('ANONYMIZED', 'I am {NAME}'), transformed: ['I am {NAME}', ''] },
      { reply: sensitive('BLOCKED', 'Sorry.'), transformed: ['I am {NAME}', ''] },
      { reply: calm },
    ],
    bad: [{ reply: hateful }],
  },
  {
    ...{
      id: 'mistral.moderateContent',
      host: 'https://api.mistral.ai',
      path: '/v1/moderations',
      headers: bearer,
    },
    parameters: { categories: ['pii', 'law'] },
    body: { model: 'mistral-moderation-latest', input: [text] },
    good: [{ reply: { results: [{ categories: { pii: false, law: false, sexual: true } }] } }],
    bad: [{ reply: { results: [{ categories: { pii: true, law: false } }] }, data: { found: ['pii'] } }],
  },
  evaluation('pii', 'pii'),
  {
    ...{
      id: 'patronus.pii',
      about: 'masked',
      ...patronus,
      parameters: { redact: true },
      texts: ['😀 I am Ann'],
    },
    good: [
      {
        reply: evaluated(false, {
          positions: [
            [7, 10],
            [8, 10],
          ],
        }),
        transformed: ['😀 I am [REDACTED]'],
      },
      { reply: evaluated(true) },
    ],
    // Found, and no place to mask.
    bad: [{ reply: evaluated(false), transformed: ['😀 I am Ann'] }],
  },
  evaluation('phi', 'phi'),
  evaluation('isConcise', 'judge', 'patronus:is-concise'),
  evaluation('isHelpful', 'judge', 'patronus:is-helpful'),
  evaluation('isPolite', 'judge', 'patronus:is-polite'),
  evaluation('noApologies', 'judge', 'patronus:no-apologies'),
  evaluation('noGenderBias', 'judge', 'patronus:no-gender-bias'),
  evaluation('noRacialBias', 'judge', 'patronus:no-racial-bias'),
  evaluation('retrievalAnswerRelevance', 'answer-relevance'),
  evaluation('retrievalHallucination', 'hallucination', 'patronus:hallucination'),
  evaluation('toxicity', 'toxicity'),
  evaluation('custom', 'judge', 'mine', { parameters: { profile: 'mine' } }),
  evaluation('custom', 'glider', 'mine', {
    about: 'of an evaluator',
    parameters: { profile: 'glider:mine' },
  }),
  pillar('pillar.scanPrompt', 'prompt'),
  pillar('pillar.scanResponse', 'response'),
  {
    ...{ id: 'promptfoo.guard', ...promptfoo, path: '/v1/guard' },
    good: [{ reply: flagged('jailbreak', false) }],
    bad: [{ reply: flagged('jailbreak', true), data: { found: ['jailbreak'] } }],
  },
  {
    ...{ id: 'promptfoo.harm', ...promptfoo, path: '/v1/harm' },
    good: [{ reply: flagged('violent_crimes', false) }],
    bad: [{ reply: flagged('violent_crimes', true), data: { found: ['violent_crimes'] } }],
  },
  {
    ...{ id: 'promptfoo.pii', ...promptfoo, path: '/v1/pii' },
    good: [{ reply: flagged('pii', false) }],
    bad: [{ reply: personal('Ann'), data: { found: ['NAME'] } }],
  },
  {
    ...{ id: 'promptfoo.pii', about: 'masked', ...promptfoo, path: '/v1/pii', parameters: { redact: true } },
    good: [{ reply: personal('Ann'), transformed: ['Hello, [NAME]'] }],
    bad: [{ reply: personal('Bob'), transformed: [text] }],
  },
  prisma('panw-prisma-airs.intercept'),
  prisma('panwPrismaAirs.intercept'),
  {
    ...acuvity,
    good: [
      { reply: extraction({ exploits: { prompt_injection: 0.4 }, languages: { english: 0.9 } }) },
      { reply: extraction({ malcontents: {} }) },
    ],
    bad: [
      { reply: extraction({ exploits: { jailbreak: 0.5 } }), data: { found: ['jail_break'] } },
      { reply: extraction({ malcontents: { toxic: 1 } }), data: { found: ['toxic'] } },
      { reply: extraction({ languages: { french: 0.9 } }), data: { found: ['language'] } },
      { reply: extraction({ PIIs: { person: 1 } }), data: { found: ['pii: person'] } },
    ],
  },
  {
    ...{ ...acuvity, about: 'masked', parameters: { pii_redact: true, pii_categories: ['person'] } },
    body: { ...acuvity.body, redactions: ['person'] },
    good: [
      { reply: { extractions: [{ data: 'Hello, XXX', PIIs: { person: 1 } }] }, transformed: ['Hello, XXX'] },
      { reply: extraction({ PIIs: { email_address: 1 } }) },
    ],
    bad: [
      { reply: extraction({ PIIs: { person: 1 } }) },
      {
        reply: { extractions: [{ data: 'Hello, XXX', PIIs: { person: 1 }, secrets: { aws_secret_key: 1 } }] },
        transformed: ['Hello, XXX'],
      },
    ],
  },
  {
    ...{ id: 'crowdstrike-aidr.guardChatCompletions', host: 'https://aidr.example.com' },
    ...{ path: '/v1/guard_chat_completions', headers: bearer },
    body: {
      guard_input: { messages: [{ role: 'user', content: text }] },
      event_type: 'input',
      app_id: 'headgate',
    },
    good: [
      { reply: aidr({ blocked: false, transformed: false }) },
      {
        reply: aidr({
          transformed: true,
          guard_output: { messages: [{ role: 'user', content: 'Hello, ***' }] },
        }),
        transformed: ['Hello, ***'],
      },
    ],
    bad: [{ reply: aidr({ blocked: true }), data: { policy: 'p' } }],
  },
  {
    ...{ id: 'sydelabs.sydeguard', host: 'https://guard.sydelabs.ai', path: '/api/v1/guard/generate-score' },
    ...{ headers: { 'x-api-key': key }, body: { prompt: text } },
    good: [{ reply: { category_scores: [{ category: 'TOXIC', score: 0.5 }] } }],
    bad: [
      { reply: { category_scores: [{ category: 'EVASION', score: 0.51 }] }, data: { found: ['EVASION'] } },
    ],
  },
  {
    ...{ id: 'aporia.validateProject', host: 'https://gr-prd.aporia.com', path: '/p%2F1/validate' },
    ...{ headers: { 'x-aporia-api-key': key }, parameters: { projectID: 'p/1' } },
    body: { messages: [{ role: 'user', content: text }], validation_target: 'prompt', explain: true },
    good: [{ reply: { action: 'passthrough', revised_response: null } }],
    bad: [{ reply: { action: 'block' } }, { reply: { action: 'modify', revised_response: text } }],
  },
  {
    ...{ id: 'aporia.validateProject', about: 'an answer', phase: 'after', parameters: { projectID: 'p' } },
    ...{ host: 'https://gr-prd.aporia.com', path: '/p/validate' },
    body: {
      messages: [{ role: 'user', content: 'Who is it?' }],
      validation_target: 'response',
      response: text,
    },
    good: [{ reply: { action: 'passthrough' } }],
    bad: [{ reply: { action: 'rephrase' } }],
  },
  {
    ...{ id: 'lasso.classify', host: 'https://server.lasso.security', path: '/gateway/v2/classify' },
    ...{ headers: { 'lasso-api-key': key }, body: { messages: [{ role: 'user', content: text }] } },
    good: [{ reply: { deputies: { jailbreak: false }, violations_detected: false } }],
    bad: [
      { reply: { deputies: { jailbreak: true }, violations_detected: true }, data: { found: ['jailbreak'] } },
    ],
  },
  {
    ...{ id: 'akto.scan', host: 'https://1726615470-guardrails.akto.io', path: '/api/validate/request' },
    ...{ headers: bearer, body: { payload: JSON.stringify({ prompt: text, model: 'gpt-4o' }) } },
    good: [{ reply: { Allowed: true, Modified: false, Reason: '' } }],
    bad: [{ reply: { Allowed: false, Modified: false, Reason: text } }],
  },
  {
    ...{ id: 'exa.online', host: 'https://api.exa.ai', path: '/search', headers: { 'x-api-key': key } },
    ...{ parameters: { numResults: 1, prefix: '<', suffix: '>', includeDomains: ['example.com'] } },
    body: { query: text, numResults: 1, includeDomains: ['example.com'] },
    good: [
      {
        reply: { results: [{ title: 'T', url: 'https://example.com', text: 'Page' }, { title: 'U' }] },
        transformed: ['Hello, Ann<\n[1] "T"\nURL: https://example.com\nPage\n>'],
      },
      { reply: { results: [] } },
    ],
    bad: [],
  },
  {
    ...{
      id: 'f5-guardrails.scan',
      host: 'https://us1.calypsoai.app',
      path: '/backend/v1/scans',
      headers: bearer,
    },
    body: { input: text, project: 'p1' },
    good: [{ reply: f5('cleared') }],
    bad: [{ reply: f5('flagged') }, { reply: f5('blocked') }, { reply: f5('redacted', 'Hello, ***') }],
  },
  {
    ...{
      id: 'f5-guardrails.scan',
      about: 'masked',
      host: 'https://us1.calypsoai.app',
      path: '/backend/v1/scans',
    },
    parameters: { redact: true, projectId: 'p2' },
    body: { input: text, project: 'p2' },
    good: [{ reply: f5('redacted', 'Hello, ***'), transformed: ['Hello, ***'] }],
    bad: [{ reply: f5('blocked') }],
  },
  {
    ...{ id: 'javelin.guardrails', host: 'https://aws.us.pangea.cloud', path: '/v1/guardrails/apply' },
    ...{ headers: { 'x-javelin-apikey': key, 'x-javelin-application': 'shop' }, body: { input: { text } } },
    good: [{ reply: { assessments: [{ trustsafety: { request_reject: false } }] } }],
    bad: [
      {
        reply: { assessments: [{ trustsafety: { request_reject: true } }] },
        data: { found: ['trustsafety'] },
      },
    ],
  },
  {
    ...{ id: 'pangea.textGuard', host: 'https://ai-guard.aws.us.pangea.cloud', path: '/v1/text/guard' },
    ...{ headers: bearer, parameters: { recipe: 'r' }, body: { text, recipe: 'r', debug: false } },
    good: [{ reply: pangea({ detectors: { prompt_injection: { detected: false } } }) }],
    bad: [
      {
        reply: pangea({ detectors: { prompt_injection: { detected: true } } }),
        data: { found: ['prompt_injection'] },
      },
      { reply: pangea({ detectors: {}, blocked: true }) },
    ],
  },
  {
    ...{ id: 'pangea.pii', host: 'https://redact.aws.us.pangea.cloud', path: '/v1/redact_structured' },
    ...{ headers: bearer, body: { data: [text] } },
    good: [{ reply: pangea({ count: 0, redacted_data: [text] }) }],
    bad: [{ reply: pangea({ count: 1, redacted_data: ['Hello, <PERSON>'] }) }],
  },
  {
    ...{ id: 'pangea.pii', about: 'masked', host: 'https://redact.aws.us.pangea.cloud' },
    ...{ path: '/v1/redact_structured', parameters: { redact: true } },
    good: [
      {
        reply: pangea({ count: 1, redacted_data: ['Hello, <PERSON>'] }),
        transformed: ['Hello, <PERSON>'],
      },
    ],
    bad: [],
  },
  promptsecurity('promptsecurity.protectPrompt', 'prompt'),
  promptsecurity('promptsecurity.protectResponse', 'response'),
  qualifire('contentModeration', { input: text, content_moderation_check: true }),
  qualifire('pii', { input: 'Who is it?', output: text, pii_check: true }, { phase: 'after' }),
  qualifire('promptInjections', { input: text, prompt_injections: true }),
  qualifire('hallucinations', {
    ...{ input: 'Who is it?', output: text },
    ...{ hallucinations_check: true, hallucinations_mode: 'balanced' },
  }),
  qualifire('grounding', { output: text, grounding_check: true, grounding_mode: 'balanced' }),
  qualifire('toolUseQuality', {
    available_tools: [],
    tool_selection_quality_check: true,
    tsq_mode: 'balanced',
  }),
  qualifire(
    'policy',
    { assertions: ['be kind'], assertions_mode: 'balanced', input: text },
    { parameters: { policies: ['be kind'] } },
  ),
  qualifire(
    'policy',
    { assertions: ['be kind'], output: text },
    { about: 'an answer', phase: 'after', parameters: { policies: ['be kind'], policy_target: 'output' } },
  ),
  {
    ...{ id: 'walledai.walledprotect', host: 'https://services.walled.ai', path: '/v1/walled-protect' },
    ...{ headers: { 'x-api-key': key }, parameters: { pii_list: ['Email Id'] } },
    body: { text, generic_safety_check: true, pii_list: ['Email Id'], compliance_list: [] },
    good: [
      { reply: { data: { safety: [{ isSafe: true }], pii: [{ pii_type: 'Email Id', isPresent: false }] } } },
    ],
    bad: [
      { reply: { data: { safety: [{ isSafe: false }] } }, data: { found: ['safety'] } },
      { reply: { data: { safety: [], pii: [{ pii_type: 'Email Id', isPresent: true }] } } },
      { reply: { data: { compliance: [{ topic: 'cars', isOnTopic: false }] } } },
    ],
  },
  {
    ...{ id: 'zscalerAiGuard.zscalerAiGuardCheck', host: 'https://api.zseclipse.net' },
    ...{ path: '/v1/detection/execute-policy', headers: bearer, parameters: { policyId: '7' } },
    body: { policyId: '7', direction: 'IN', content: text },
    good: [{ reply: { action: 'ALLOW' } }, { reply: { action: 'DETECT' } }],
    bad: [
      {
        reply: { action: 'BLOCK', detectorResponses: { toxicity: { triggered: true } } },
        data: { found: ['toxicity'] },
      },
    ],
  },
];
