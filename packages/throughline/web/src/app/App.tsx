import { Suspense, useEffect, type ReactNode } from "react";
import { BASE, EMBEDDED, IS_EMBEDDED, PRESENT } from "../api/base";
import { useLive } from "../api/live";
import { Boundary } from "../components/Boundary";
import { part } from "../components/part";
import skip from "../components/skip.module.css";
import { SkipLink } from "../components/SkipLink";
import { Tip } from "../components/Tip";
import { beginningAt } from "../features/lost/Begin";
import { NotFound } from "../features/lost/NotFound";
import { RunPage } from "../features/run/RunPage";
import { StartPage } from "../features/start/StartPage";
import { FRAME } from "../strings/frame";
import { useAddress } from "./address";
import { Header } from "./Header";
import { SampleBanner } from "./SampleBanner";

// The start page paints without the graph's code.
const BrowsePage = part(() => import("../features/browse/BrowsePage"));
const CompletenessPage = part(() => import("../features/completeness/CompletenessPage"));
const FoundPage = part(() => import("../features/found/FoundPage"));
const ImpactPage = part(() => import("../features/impact/ImpactPage"));
const LineagePage = part(() => import("../features/lineage/LineagePage"));
const ProvenancePage = part(() => import("../features/provenance/ProvenancePage"));

export function App(): ReactNode {
  const isLive = useLive();
  const address = useAddress();
  const { pathname } = address;
  useEffect(() => {
    if (BASE && new URLSearchParams(location.search).has("tour")) void import("../features/tour/tour").then(({ startTour }) => startTour());
  }, []);
  return (
    <>
      <SkipLink />
      {BASE && <SampleBanner />}
      {EMBEDDED && <p className="sample-banner">{FRAME.file(PRESENT)}</p>}
      {!IS_EMBEDDED && <Header isLive={isLive} pathname={pathname} />}
      {IS_EMBEDDED && !isLive && (
        <p className="sample-banner" role="status">
          {FRAME.reconnecting}
        </p>
      )}
      <Tip />
      <div id="content" className={skip["content"]}>
        <Boundary about={address.href}>
          <Suspense fallback={<p className="waiting">Loading …</p>}>{beginningAt(address) ?? viewAt(pathname)}</Suspense>
        </Boundary>
      </div>
    </>
  );
}

function viewAt(pathname: string): ReactNode {
  switch (pathname) {
    case "/":
      return <StartPage />;
    case "/lineage":
      return <LineagePage />;
    case "/impact":
      return <ImpactPage />;
    case "/provenance":
      return <ProvenancePage />;
    case "/datasets":
    case "/jobs":
    case "/runs":
    case "/owners":
    case "/tags":
      return <BrowsePage />;
    case "/search":
      return <FoundPage />;
    case "/completeness":
      return <CompletenessPage />;
    case "/run":
      return <RunPage />;
    default:
      return <NotFound />;
  }
}
