import { defineStage } from '../../src/common/plugin-host/plugin.js';

export default defineStage({ name: 'logger', needs: ['settlement'] });
