package secrets

import "regexp"

// known are the forms. An expression has one group for each form, around what is
// secret.
var known = []struct {
	kind     string
	prefixes []string
	re       string
}{
	{"AWS access key ID", []string{"AKIA", "ASIA"}, `A[KS]IA([A-Z2-7]{16})`},
	{"AWS secret access key", []string{"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"}, `(?i:aws_secret_access_key)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9/+]{40})`},
	{"Azure storage key", []string{"AccountKey="}, `AccountKey=([A-Za-z0-9+/]{86}==)`},
	{"Google API key", []string{"AIza"}, `AIza([A-Za-z0-9_-]{35})`},
	{"Google OAuth client secret", []string{"GOCSPX-"}, `GOCSPX-([A-Za-z0-9_-]{28})`},
	{"DigitalOcean token", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, `do[opr]_v1_([a-f0-9]{64})`},
	{"Databricks token", []string{"dapi"}, `dapi([a-f0-9]{32})`},

	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, `gh[pousr]_([A-Za-z0-9]{36,255})`},
	{"GitHub token", []string{"github_pat_"}, `github_pat_([A-Za-z0-9]{22}_[A-Za-z0-9]{59})`},
	{"GitLab token", []string{"glpat-", "gldt-", "glrt-"}, `gl(?:pat|dt|rt)-([A-Za-z0-9_-]{20,300})`},
	{"npm token", []string{"npm_"}, `npm_([A-Za-z0-9]{36})`},
	{"PyPI token", []string{"pypi-AgEIcHlwaS5vcmc"}, `pypi-AgEIcHlwaS5vcmc([A-Za-z0-9_-]{50,500})`},
	{"Docker Hub token", []string{"dckr_pat_"}, `dckr_pat_([A-Za-z0-9_-]{27})`},

	{"OpenAI key", []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, `sk-(?:proj|svcacct|admin)-([A-Za-z0-9_-]{40,300})`},
	{"OpenAI key", []string{"sk-"}, `sk-([A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})`},
	{"Anthropic key", []string{"sk-ant-"}, `sk-ant-[a-z]{3,6}[0-9]{2}-([A-Za-z0-9_-]{80,120})`},
	{"Hugging Face token", []string{"hf_"}, `hf_([A-Za-z0-9]{34})`},
	{"Groq key", []string{"gsk_"}, `gsk_([A-Za-z0-9]{52})`},
	{"xAI key", []string{"xai-"}, `xai-([A-Za-z0-9]{80})`},
	{"Perplexity key", []string{"pplx-"}, `pplx-([A-Za-z0-9]{48})`},
	{"Replicate token", []string{"r8_"}, `r8_([A-Za-z0-9]{37})`},

	{"Slack token", []string{"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-"}, `xox[abprse]-([0-9]{8,}-[A-Za-z0-9-]{16,250})`},
	{"Slack webhook", []string{"https://hooks.slack.com/services/"}, `https://hooks\.slack\.com/services/(T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24})`},
	{"Discord webhook", []string{"https://discord.com/api/webhooks/", "https://discordapp.com/api/webhooks/"}, `https://discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})`},
	{"Stripe key", []string{"sk_live_", "rk_live_"}, `[sr]k_live_([A-Za-z0-9]{24,250})`},
	{"Stripe webhook secret", []string{"whsec_"}, `whsec_([A-Za-z0-9]{32,64})`},
	{"SendGrid key", []string{"SG."}, `SG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})`},
	{"Shopify token", []string{"shpat_", "shpca_", "shppa_", "shpss_"}, `shp(?:at|ca|pa|ss)_([a-fA-F0-9]{32})`},
	{"Linear key", []string{"lin_api_"}, `lin_api_([A-Za-z0-9]{40})`},
	{"Notion token", []string{"ntn_"}, `ntn_([A-Za-z0-9]{46})`},
	{"Figma token", []string{"figd_"}, `figd_([A-Za-z0-9_-]{40})`},
	{"Airtable token", []string{"pat"}, `pat([A-Za-z0-9]{14}\.[a-f0-9]{64})`},
	{"Supabase token", []string{"sbp_"}, `sbp_([a-f0-9]{40})`},
	{"Grafana token", []string{"glsa_"}, `glsa_([A-Za-z0-9]{32}_[a-fA-F0-9]{8})`},
	{"Postman key", []string{"PMAK-"}, `PMAK-([a-f0-9]{24}-[a-f0-9]{34})`},
	{"HashiCorp Vault token", []string{"hvs."}, `hvs\.([A-Za-z0-9_-]{90,200})`},
	{"Doppler token", []string{"dp.pt.", "dp.st."}, `dp\.(?:pt|st)\.((?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44})`},
	{"age secret key", []string{"AGE-SECRET-KEY-1"}, `AGE-SECRET-KEY-1([QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})`},
	// A PEM block, also as one JSON string. Headers may stand before the key.
	{privateKey, []string{"-----BEGIN "}, `-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\r|\\n|[A-Za-z-]{1,30}: [^\n\\]{0,100})*([A-Za-z0-9+/]{60,}=*)`},
}

const privateKey = "private key"

// detectors are the forms by the first byte of their prefix.
var detectors = compile()

func compile() (table [256][]detector) {
	for _, k := range known {
		re := regexp.MustCompile(`^(?:` + k.re + `)`)
		for _, prefix := range k.prefixes {
			table[prefix[0]] = append(table[prefix[0]], detector{k.kind, []byte(prefix), re, k.kind == privateKey})
		}
	}
	return table
}
