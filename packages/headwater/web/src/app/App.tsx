import { Suspense, useEffect, type ReactNode } from "react";
import { BASE, ONE_FILE, IS_EMBEDDED, PRESENT } from "../api/base";
import { useLive } from "../api/live";
import { Boundary } from "../components/Boundary";
import { lazyView } from "../components/lazyView";
import skip from "../components/skip.module.css";
import { SkipLink } from "../components/SkipLink";
import { Tip } from "../components/Tip";
import { emptyViewAt } from "../features/fallback/EmptyView";
import { NotFound } from "../features/fallback/NotFound";
import { RunPage } from "../features/run/RunPage";
import { StartPage } from "../features/start/StartPage";
import { FRAME } from "../strings/frame";
import { useAddress } from "../navigation/address";
import { Header } from "./Header";
import { SampleBanner } from "./SampleBanner";
import styles from "./banner.module.css";
import { Loading } from "../components/Skeleton";

// The start page does not load the code of these views.
const BrowsePage = lazyView(() => import("../features/browse/BrowsePage"));
const CompletenessPage = lazyView(() => import("../features/completeness/CompletenessPage"));
const MapPage = lazyView(() => import("../features/map/MapPage"));
const ProblemsPage = lazyView(() => import("../features/problems/ProblemsPage"));
const SearchPage = lazyView(() => import("../features/search/SearchPage"));
const ImpactPage = lazyView(() => import("../features/impact/ImpactPage"));
const LineagePage = lazyView(() => import("../features/lineage/LineagePage"));
const ProvenancePage = lazyView(() => import("../features/provenance/ProvenancePage"));
const IncidentPage = lazyView(() => import("../features/versions/IncidentPage"));
const VersionPage = lazyView(() => import("../features/versions/VersionPage"));

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
      {ONE_FILE && <p className={styles.banner}>{FRAME.file(PRESENT)}</p>}
      {!IS_EMBEDDED && <Header isLive={isLive} pathname={pathname} />}
      {IS_EMBEDDED && !isLive && (
        <p className={styles.banner} role="status">
          {FRAME.reconnecting}
        </p>
      )}
      <Tip />
      <div id="content" className={skip["content"]}>
        <Boundary about={address.href}>
          <Suspense fallback={<Loading />}>{emptyViewAt(address) ?? viewAt(pathname)}</Suspense>
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
    case "/map":
      return <MapPage />;
    case "/impact":
      return <ImpactPage />;
    case "/provenance":
      return <ProvenancePage />;
    case "/incident":
      return <IncidentPage />;
    case "/version":
      return <VersionPage />;
    case "/datasets":
    case "/jobs":
    case "/runs":
    case "/owners":
    case "/tags":
      return <BrowsePage />;
    case "/search":
      return <SearchPage />;
    case "/problems":
      return <ProblemsPage />;
    case "/completeness":
      return <CompletenessPage />;
    case "/run":
      return <RunPage />;
    default:
      return <NotFound />;
  }
}
