import { anchorFileOf } from '../../control-plane/store/files/anchor-file.js';
import { type Anchoring, startAnchoring } from '../audit-anchoring.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

/**
 * Anchors of the audit logs. Read before rows can be appended to a log that was set back while no gateway was running.
 */
export const anchoringPart: ProcessPart<Base & Records, { readonly anchoring: Anchoring | null }> = {
  name: 'anchoring of audit logs',
  async start({ settings, store: { audit }, log }) {
    // Nothing is appended to an audit log there.
    if (settings.role === 'data') return { anchoring: null };
    const file = settings.auditAnchors.includes('file') ? anchorFileOf(settings) : null;
    const anchoring = startAnchoring({ audit, file, toLog: settings.auditAnchors.includes('log'), log });
    await anchoring.loaded;
    return { anchoring };
  },
  stop: ({ anchoring }) => anchoring?.stop(),
};
