import type { RemoteCheck } from '../../check.js';
import { acuvity } from './acuvity.js';
import { akto } from './akto.js';
import { aporia } from './aporia.js';
import { contentSafety } from './azure/content-safety.js';
import { azurePii } from './azure/pii.js';
import { protectedMaterial } from './azure/protected-material.js';
import { shieldPrompt } from './azure/shield-prompt.js';
import { bedrockGuard } from './bedrock.js';
import { crowdstrike } from './crowdstrike.js';
import { exa } from './exa.js';
import { f5 } from './f5.js';
import { javelin } from './javelin.js';
import { lasso } from './lasso.js';
import { mistralModeration } from './mistral.js';
import { pangea } from './pangea.js';
import { patronus } from './patronus.js';
import { pillar } from './pillar.js';
import { prismaAirs } from './prisma-airs.js';
import { promptfoo } from './promptfoo.js';
import { promptsecurity } from './promptsecurity.js';
import { qualifire } from './qualifire.js';
import { sydeguard } from './sydelabs.js';
import { walledai } from './walledai.js';
import { zscaler } from './zscaler.js';

/** Checks that ask the services of partners, with the organisation's credentials (docs/checks.md). */
export const partnerChecks: readonly RemoteCheck[] = [
  ...[contentSafety, azurePii, shieldPrompt, protectedMaterial, bedrockGuard, mistralModeration],
  ...[...patronus, ...pillar, ...promptfoo, ...prismaAirs, ...pangea, ...promptsecurity, ...qualifire],
  ...[acuvity, sydeguard, aporia, lasso, akto, crowdstrike, exa, f5, javelin, walledai, zscaler],
];
