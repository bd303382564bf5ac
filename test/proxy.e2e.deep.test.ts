// A real browser through the embedded engine.
import { browsingTests } from './system/browsing.ts';

browsingTests('embedded');
