import { type ClaudeTraits, claudeTraits } from './claude-models.js';

/** What a model on Bedrock accepts, by its id. */
export interface BedrockTraits {
  /** `anthropic`, `amazon`, …; null for ids without a vendor: profiles, deployments and imports of one's own. */
  readonly vendor: string | null;
  /** null where it is no Claude. */
  readonly claude: ClaudeTraits | null;
  /** `outputConfig.textFormat`, and `strict` tools (userguide/structured-output.html). */
  readonly structuredOutput: boolean;
  /** `toolChoice.tool`; for all others `any` of that one tool means the same (API_runtime_ToolChoice.html). */
  readonly namedTool: boolean;
  /** Can a tool be forced at all? */
  readonly forcedTool: boolean;
  /** A `cachePoint` among the tools; Nova has them in system and messages alone (userguide/prompt-caching.html). */
  readonly cachedTools: boolean;
}

/** Claude from 4.5 on, and the open models; of Amazon's, Meta's and the older vendors' none is listed. */
const unstructured = new Set(['amazon', 'meta', 'cohere', 'ai21', 'writer', 'stability', 'twelvelabs']);
const unforced = new Set(['meta', 'cohere', 'ai21', 'writer']);

/** Cross-region inference profiles: `us.`, `eu.`, `apac.`, `us-gov.`, `global.`, … */
const region = /^(?:[a-z]{2}(?:-gov)?|apac|global)\./;

/** `arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-…` → `anthropic.claude-…`. */
export function bareModelId(id: string): string {
  const last = id.startsWith('arn:') ? id.slice(id.lastIndexOf('/') + 1) : id;
  return last.replace(region, '');
}

export function bedrockTraits(id: string): BedrockTraits {
  const bare = bareModelId(id);
  const dot = bare.indexOf('.');
  const vendor = dot > 0 ? bare.slice(0, dot) : null;
  const claude = vendor === 'anthropic' ? claudeTraits(bare) : null;
  return {
    vendor,
    claude,
    // Opus 4.1 has it on Anthropic's own API alone.
    structuredOutput:
      claude === null
        ? vendor === null || !unstructured.has(vendor)
        : claude.structuredOutput && !/claude-opus-4-1(?!\d)/.test(bare),
    namedTool: vendor === null || vendor === 'anthropic' || vendor === 'amazon',
    forcedTool: vendor === null || !unforced.has(vendor),
    cachedTools: vendor !== 'amazon',
  };
}
