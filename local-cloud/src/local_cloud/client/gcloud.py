"""gcloud's configurations in the local cloud's folder: what a user may set, and the endpoints.

A variable such as CLOUDSDK_CORE_PROJECT would win over `gcloud config set project`, in silence. So
the project, the account and the region are in a configuration, which gcloud and bq read and change.

gcloud asks more than two hundred services. For one that is not here it would try again for half a
minute; so each has an endpoint at the local cloud, which refuses its requests by name, at once.
"""

from __future__ import annotations

import configparser
import io
import re

from local_cloud.client.home import Home

PROJECT = "local-project"
ACCOUNT = "user@local-cloud"  # gsutil asks nothing of gcloud that has no account
REGION = "us-central1"
ABSENT = "absent"  # below it are the endpoints of services that are not here
# The names in gcloud's section api_endpoint_overrides, but for the services that are here: their
# endpoints are variables (`environment.py`). Source: cloud.google.com/sdk/gcloud/reference/config.
SERVICES = """
accessapproval accesscontextmanager alloydb anthosevents anthospolicycontrollerstatus_pa
apigateway apigee apihub apikeys appconfigmanager appengine apphub artifactregistry
assuredworkloads auditmanager authztoolkit backupdr baremetalsolution batch beyondcorp
bigquerymigration bigtableadmin binaryauthorization categorymanager certificatemanager
cloudaicompanion cloudasset cloudbilling cloudbuild cloudcommerceconsumerprocurement clouddebugger
clouddeploy clouderrorreporting cloudfunctions cloudidentity cloudkms cloudlocationfinder
cloudnumberregistry cloudquotas cloudresourcesearch cloudscheduler cloudshell cloudtasks
cloudtrace composer compute config configdelivery connectgateway container containeranalysis
datacatalog dataflow datafusion datamigration datapipelines dataplex datapol dataproc dataprocgdc
datastore datastream deploymentmanager designcenter developerconnect discovery dns domains
edgecontainer edgenetwork eventarc eventarcpublishing faultinjectiontesting file
firebasedataconnect firestore geminicloudassist genomics gkebackup gkehub gkemulticloud gkeonprem
gkerecommender healthcare iam iamcredentials iap ids krmapihosting kubernetespolicy language
lifesciences looker lustre managedflink managedidentities managedkafka manager
marketplacesolutions mediaasset memcache memorystore messagestreams metastore ml modelarmor
monitoring netapp networkconnectivity networkmanagement networksecurity networkservices notebooks
observability ondemandscanning oracledatabase orglifecycle orgpolicy osconfig oslogin
parallelstore parametermanager policyanalyzer policysimulator policytroubleshooter privateca
privilegedaccessmanager publicca pubsub pubsublite recaptchaenterprise recommender redis
remotebuildexecution replicapoolupdater run runapps runtimeconfig saasservicemgmt sasportal sddc
seclm secretmanager securesourcemanager securitycenter securitycentermanagement securityposture
servicedirectory servicemanagement serviceregistry serviceusage source sourcerepo spanner speech
sql storagebatchoperations storageinsights stream telcoautomation testing toolresults tpu
transcoder transfer transferappliance vision vmmigration vmwareengine vpcaccess workflowexecutions
workflows workloadcertificate workstations
""".split()  # noqa: SIM905 - two hundred lines as a list


def write_configuration(home: Home, port: int, project: str = PROJECT) -> None:
    """Write the configuration of a project, and keep what the user has set in it."""
    path = home.gcloud_config / "configurations" / f"config_{configuration(project)}"
    settings = configparser.RawConfigParser()
    settings.read(path, encoding="utf-8")
    known = {("core", "project"): project, ("core", "account"): ACCOUNT, ("ai", "region"): REGION}
    # Else lists of Compute Engine only warn that the service is not here, and end with success.
    known["compute", "allow_partial_error"] = "false"
    for (section, name), value in known.items():
        if not settings.has_section(section):
            settings.add_section(section)
        if not settings.has_option(section, name):
            settings.set(section, name, value)
    url = f"http://127.0.0.1:{port}/{ABSENT}"
    settings["api_endpoint_overrides"] = {name: f"{url}/{name}/" for name in SERVICES}
    active = home.gcloud_config / "active_config"
    if not active.exists():  # else gcloud would empty the configuration when it is first used
        active.parent.mkdir(parents=True, exist_ok=True)
        active.write_text("default", encoding="utf-8")
    text = io.StringIO()
    settings.write(text)
    if not path.exists() or path.read_text(encoding="utf-8") != text.getvalue():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(text.getvalue(), encoding="utf-8")
        new.replace(path)


def configuration(project: str) -> str:
    """Return the name of a project's configuration: lower-case letters, digits and hyphens."""
    return "default" if project == PROJECT else re.sub(r"[^a-z0-9]+", "-", f"of-{project.lower()}")
