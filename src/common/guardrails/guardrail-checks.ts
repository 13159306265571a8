import {
  choice,
  choices,
  count,
  expression,
  flag,
  free,
  headers,
  mapOf,
  milliseconds,
  object,
  type ParameterTable,
  type Properties,
  parameters,
  schema,
  share,
  text,
  textMap,
  texts,
  url,
  values,
} from './guardrail-parameters.js';

/** `before`: the check sees the request. `after`: it sees the answer. */
export type CheckPhase = 'before' | 'after';

export interface GuardrailCheck {
  readonly phases: readonly CheckPhase[];
  readonly parameters: ParameterTable;
}

const before: readonly CheckPhase[] = ['before'];
const after: readonly CheckPhase[] = ['after'];
const both: readonly CheckPhase[] = ['before', 'after'];

/** A check that decides by itself. */
const local = (
  phases: readonly CheckPhase[],
  properties: Properties,
  required: readonly string[] = [],
): GuardrailCheck => ({ phases, parameters: parameters(properties, required) });

/** A check that calls another service, and waits for the answer. */
const remote = (
  phases: readonly CheckPhase[],
  properties: Properties = {},
  required: readonly string[] = [],
  timeout = 5000,
): GuardrailCheck =>
  local(phases, { ...properties, failOnError: flag(false), timeout: milliseconds(timeout) }, required);

const not = flag(false);
const redact = flag(false);
const anyOf = choice(['any', 'all', 'none'], 'any');
const allOf = choice(['all', 'any', 'none'], 'all');
const casing = local(both, { not });
const allowedModels = local(before, { models: texts(), not }, ['models']);

const requestTypes = [
  ...['complete', 'chatComplete', 'embed', 'rerank', 'moderate', 'proxy', 'imageGenerate', 'imageEdit'],
  ...['createSpeech', 'createTranscription', 'createTranslation', 'realtime', 'messages', 'uploadFile'],
  ...['listFiles', 'retrieveFile', 'deleteFile', 'retrieveFileContent', 'createBatch', 'retrieveBatch'],
  ...['cancelBatch', 'listBatches', 'getBatchOutput', 'createFinetune', 'listFinetunes', 'retrieveFinetune'],
  ...['cancelFinetune', 'createModelResponse', 'getModelResponse', 'deleteModelResponse'],
  'listResponseInputItems',
];
const codeFormats = [
  ...[
    'SQL',
    'Python',
    'TypeScript',
    'JavaScript',
    'Java',
    'C#',
    'C++',
    'C',
    'Ruby',
    'PHP',
    'Swift',
    'Kotlin',
  ],
  ...['Go', 'Rust', 'Scala', 'R', 'Perl', 'Shell', 'HTML', 'CSS', 'XML', 'JSON', 'YAML', 'Markdown'],
  'Dockerfile',
];

const own = {
  'default.regexMatch': local(both, { rule: expression, not }, ['rule']),
  'default.regexReplace': local(both, { rule: expression, redactText: text() }, ['rule']),
  'default.sentenceCount': local(both, { minSentences: count(0), maxSentences: count(99_999), not }),
  'default.wordCount': local(both, { minWords: count(0), maxWords: count(99_999), not }),
  'default.characterCount': local(both, { minCharacters: count(0), maxCharacters: count(9_999_999), not }),
  'default.contains': local(both, { words: texts(), operator: anyOf }, ['words', 'operator']),
  'default.endsWith': local(both, { suffix: text(), not }, ['suffix']),
  'default.alluppercase': casing,
  'default.alllowercase': casing,
  'default.isAllLowerCase': casing,
  'default.notNull': local(both, { not }),
  'default.jsonSchema': local(both, { schema, not }, ['schema']),
  'default.jsonKeys': local(both, { keys: texts(), operator: anyOf }, ['keys', 'operator']),
  'default.validUrls': remote(after, { onlyDNS: flag(false), not }),
  'default.containsCode': local(both, { format: choice(codeFormats), not }, ['format']),
  'default.webhook': remote(
    both,
    { webhookURL: url, headers, forwardHeaders: flag(false) },
    ['webhookURL'],
    3000,
  ),
  'default.log': remote(after, { logURL: url, headers }, ['logURL']),
  'default.addPrefix': local(
    before,
    {
      prefix: text(),
      applyToRole: choice(['user', 'system', 'assistant'], 'user'),
      addToExisting: flag(true),
      onlyIfEmpty: flag(false),
    },
    ['prefix'],
  ),
  'default.jwt': remote(
    before,
    {
      jwksUri: url,
      headerKey: text(),
      // Seconds, as clockTolerance.
      cacheMaxAge: count(86_400),
      clockTolerance: count(5),
      maxTokenAge: text('1d'),
      algorithms: texts(),
      issuer: text(),
      audience: text(),
      claims: mapOf(
        { type: ['string', 'number', 'boolean'], description: 'must be a text, a number or a flag' },
        'must be an object: the value that each claim must have',
      ),
    },
    ['jwksUri', 'headerKey'],
  ),
  'default.modelWhitelist': allowedModels,
  'default.modelwhitelist': allowedModels,
  'default.modelRules': local(before, { rules: free('must be an object: models by metadata'), not }),
  'default.allowedRequestTypes': local(before, {
    allowedTypes: choices(requestTypes),
    blockedTypes: choices(requestTypes),
  }),
  'default.requiredMetadataKeys': local(before, { metadataKeys: texts(), operator: allOf }, ['metadataKeys']),
  'default.requiredMetadataKeyPairs': local(before, { metadataPairs: textMap, operator: allOf }),
  'default.requestParams': local(before, {
    tools: object({
      blockedTypes: texts(),
      allowedTypes: texts(),
      blockedFunctionNames: texts(),
      allowedFunctionNames: texts(),
    }),
    params: object({
      blockedKeys: texts(),
      allowedKeys: texts(),
      values: mapOf(
        object({ blockedValues: values, allowedValues: values }),
        'must be an object: blockedValues and allowedValues by key',
      ),
    }),
  }),
  'default.inlineImage': local(both, {
    providers: texts(),
    maxSizeBytes: count(20 * 1024 * 1024),
    timeoutMs: milliseconds(30_000),
    failOnError: flag(false),
  }),
};

const harms = [
  ...['hate', 'hate/threatening', 'harassment', 'harassment/threatening', 'self-harm', 'self-harm/intent'],
  ...['self-harm/instructions', 'sexual', 'sexual/minors', 'violence', 'violence/graphic'],
];
const personalData = choices([
  ...['EMAIL_ADDRESS', 'PHONE_NUMBER', 'LOCATION_ADDRESS', 'NAME', 'IP_ADDRESS', 'CREDIT_CARD', 'SSN'],
  ...['MAC_ADDRESS', 'DATE_OF_BIRTH', 'PASSPORT_NUMBER', 'DRIVER_LICENSE', 'VIN'],
  ...['IBAN', 'BIC', 'US_ROUTING_NUMBER', 'CRYPTO_ADDRESS'],
  ...['US_ITIN', 'US_EIN', 'CA_SIN', 'BR_CPF', 'BR_CNPJ'],
  ...['UK_NINO', 'UK_NHS_NUMBER', 'DE_TAX_ID', 'DE_ID_CARD', 'FR_NIR', 'ES_DNI', 'ES_NIE', 'IT_FISCAL_CODE'],
  ...['NL_BSN', 'BE_NATIONAL_NUMBER', 'PT_NIF', 'CH_AHV', 'PL_PESEL', 'FI_HETU', 'SE_PERSONAL_NUMBER'],
  ...['NO_NATIONAL_NUMBER', 'IN_AADHAAR', 'IN_PAN', 'AU_TFN', 'AU_MEDICARE', 'SG_NRIC', 'CN_RESIDENT_ID'],
]);
const secrets = choices([
  ...['AWS_ACCESS_KEY', 'AWS_SECRET_KEY', 'GCP_API_KEY', 'GCP_OAUTH_SECRET', 'GCP_ACCESS_TOKEN', 'AZURE_KEY'],
  ...['AZURE_CLIENT_SECRET', 'DIGITALOCEAN_TOKEN', 'GITHUB_TOKEN', 'GITLAB_TOKEN', 'NPM_TOKEN', 'PYPI_TOKEN'],
  ...['DOCKER_TOKEN', 'SLACK_TOKEN', 'SLACK_WEBHOOK', 'STRIPE_KEY', 'STRIPE_WEBHOOK_SECRET', 'OPENAI_KEY'],
  ...['ANTHROPIC_KEY', 'HUGGINGFACE_TOKEN', 'GROQ_KEY', 'SENDGRID_KEY', 'MAILGUN_KEY', 'TWILIO_KEY'],
  ...['TELEGRAM_TOKEN', 'SHOPIFY_TOKEN', 'SQUARE_TOKEN', 'VAULT_TOKEN', 'DATABRICKS_TOKEN', 'LINEAR_KEY'],
  ...['GATEWAY_KEY', 'PRIVATE_KEY', 'JWT', 'URL_CREDENTIALS', 'PASSWORD', 'AUTHORIZATION', 'SECRET_VALUE'],
]);
const language = texts({
  type: 'string',
  pattern: '^[a-z]{3}_[A-Z][a-z]{3}$',
  description: 'must be a language and its script, as in eng_Latn',
});

const hosted = {
  'gateway.moderateContent': remote(
    before,
    { categories: choices(harms), provider: text(), model: text('omni-moderation-latest'), not },
    ['categories'],
  ),
  'gateway.language': remote(before, { language, not }),
  'gateway.pii': remote(both, { categories: personalData, redact, not }, ['categories']),
  'gateway.gibberish': remote(both, { not }),
  'gateway.secrets': local(both, { categories: secrets, redact, not }),
  'gateway.promptInjection': local(before, { threshold: share(0.5), not }),
};

const mistralHarms = choices([
  ...['sexual', 'hate_and_discrimination', 'violence_and_threats', 'dangerous_and_criminal_content'],
  ...['selfharm', 'health', 'financial', 'law', 'pii'],
]);
const pillarScanners = choices([
  ...['prompt_injection', 'pii', 'secrets', 'toxic_language', 'invisible_characters'],
]);
const acuvityTopics = ['prompt_injection', 'toxic', 'jail_break', 'malicious_url', 'biased', 'harmful'];
const acuvity: Properties = {
  ...Object.fromEntries(acuvityTopics.map((topic) => [topic, flag(true)])),
  ...Object.fromEntries(acuvityTopics.map((topic) => [`${topic}_threshold`, share(0.5)])),
  language: flag(true),
  language_values: choice(
    ['english', 'chinese', 'spanish', 'french', 'german', 'japanese', 'gibberish'],
    'english',
  ),
  pii: flag(true),
  pii_redact: redact,
  pii_categories: texts(),
  secrets: flag(true),
  secrets_redact: redact,
  secrets_categories: texts(),
};
const prisma = remote(both, { profile_name: text(), ai_model: text(), app_user: text() }, ['profile_name']);
const mode = choice(['speed', 'balanced', 'quality'], 'balanced');

/** The same row under several names of one family. */
const each = (
  family: string,
  names: readonly string[],
  row: GuardrailCheck,
): Record<string, GuardrailCheck> => Object.fromEntries(names.map((name) => [`${family}.${name}`, row]));

const partners = {
  'azure.contentSafety': remote(both, {
    blocklistNames: texts(),
    apiVersion: text('2024-09-01'),
    severity: count(2),
    categories: choices(['Hate', 'SelfHarm', 'Sexual', 'Violence']),
  }),
  'azure.pii': remote(both, {
    domain: choice(['none', 'phi'], 'none'),
    apiVersion: text('2024-11-01'),
    modelVersion: text('latest'),
    language: text('en'),
    redact,
  }),
  'azure.shieldPrompt': remote(before, { apiVersion: text('2024-09-01') }),
  'azure.protectedMaterial': remote(after, { apiVersion: text('2024-09-01') }),
  'bedrock.guard': remote(both, { guardrailVersion: text(), guardrailId: text(), redact }, [
    'guardrailVersion',
    'guardrailId',
  ]),
  'mistral.moderateContent': remote(both, { categories: mistralHarms }, ['categories']),
  ...each('patronus', ['phi', 'pii'], remote(after, { redact })),
  ...each('patronus', ['isConcise', 'isHelpful', 'isPolite', 'noApologies', 'noGenderBias'], remote(after)),
  ...each('patronus', ['noRacialBias', 'retrievalAnswerRelevance', 'toxicity'], remote(after)),
  'patronus.retrievalHallucination': remote(after),
  'patronus.custom': remote(after, { profile: text() }, ['profile'], 15_000),
  'pillar.scanPrompt': remote(before, { scanners: pillarScanners }, ['scanners']),
  'pillar.scanResponse': remote(after, { scanners: pillarScanners }, ['scanners']),
  'promptfoo.guard': remote(before),
  'promptfoo.pii': remote(both, { redact }),
  'promptfoo.harm': remote(both),
  'acuvity.scan': remote(both, acuvity),
  'sydelabs.sydeguard': remote(before, {
    prompt_injection_threshold: share(0.5),
    toxicity_threshold: share(0.5),
    evasion_threshold: share(0.5),
  }),
  'aporia.validateProject': remote(both, { projectID: text() }, ['projectID']),
  'lasso.classify': remote(before),
  'panw-prisma-airs.intercept': prisma,
  'panwPrismaAirs.intercept': prisma,
  'akto.scan': remote(both),
  'crowdstrike-aidr.guardChatCompletions': remote(both),
  'exa.online': remote(
    before,
    {
      prefix: text(),
      suffix: text(),
      numResults: count(5),
      includeDomains: texts(),
      excludeDomains: texts(),
    },
    [],
    10_000,
  ),
  'f5-guardrails.scan': remote(both, { redact, projectId: text() }),
  'javelin.guardrails': remote(both),
  'pangea.textGuard': remote(both, { recipe: text(), debug: flag(false), overrides: free() }),
  'pangea.pii': remote(both, { redact }),
  'promptsecurity.protectPrompt': remote(before),
  'promptsecurity.protectResponse': remote(after),
  ...each('qualifire', ['contentModeration', 'pii'], remote(both)),
  'qualifire.promptInjections': remote(before),
  ...each('qualifire', ['hallucinations', 'grounding', 'toolUseQuality'], remote(after, { mode })),
  'qualifire.policy': remote(
    both,
    { policies: texts(), mode, policy_target: choice(['input', 'output', 'both'], 'both') },
    ['policies'],
  ),
  'walledai.walledprotect': remote(both, {
    generic_safety_check: flag(true),
    greetings_list: texts(),
    pii_list: texts(),
    compliance_list: texts(),
  }),
  'zscalerAiGuard.zscalerAiGuardCheck': remote(both, { policyId: text() }, ['policyId'], 10_000),
};

/** Every check that a guardrail may name, and what it takes. */
export const guardrailChecks: ReadonlyMap<string, GuardrailCheck> = new Map(
  Object.entries<GuardrailCheck>({ ...own, ...hosted, ...partners }),
);
